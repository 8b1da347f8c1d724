package cli

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
)

// administrator are the flags of commands that ask administrative services of a running sidecar.
// From this machine they are open (access.admin_networks); from afar to who has the token.
type administrator struct {
	server, file string
}

func (a *administrator) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.server, "server", "", "`URL` of the sidecar (default: DGRAPH_EVORAG_SERVER, else "+defaultServer+")")
	cmd.Flags().StringVar(&a.file, "admin-file", "", "`file` with the administrators' token (access.token_file), for a sidecar elsewhere (default: DGRAPH_EVORAG_ACCESS_TOKEN)")
}

// header carries the token, where there is one.
func (a *administrator) header(c *command) (http.Header, error) {
	h, err := secretHeader("--admin-file", a.file, "Authorization", "Bearer ")
	if err != nil {
		return nil, err
	}
	if token := c.Env(config.EnvPrefix + "ACCESS_TOKEN"); a.file == "" && token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return h, nil
}

// get is the package's get with the token.
func (a *administrator) get(ctx context.Context, c *command, path string, query url.Values, v any) error {
	h, err := a.header(c)
	if err != nil {
		return err
	}
	return get(ctx, c.server(a.server), path, query, h, v)
}

// post is the package's post with the token.
func (a *administrator) post(ctx context.Context, c *command, path string, v any) (*http.Response, error) {
	h, err := a.header(c)
	if err != nil {
		return nil, err
	}
	return post(ctx, c.server(a.server), path, h, v)
}
