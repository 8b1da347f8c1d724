package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/mcp"
)

func (c *command) mcpCommand() *cobra.Command {
	var server, addr, tokenFile, adminFile, secretFile string
	cmd := &cobra.Command{
		Use: "mcp", Short: "Offer a running sidecar to language models as MCP tools", Args: c.none,
		Long: "mcp speaks the Model Context Protocol on standard input and output, or over streamable HTTP with\n" +
			"--http. Its tools are retrieve, explain, rate and evolve_dry_run, on the sidecar that --server names.\n" +
			"Secrets come from files, or from DGRAPH_EVORAG_TOKEN, DGRAPH_EVORAG_ACCESS_TOKEN and\n" +
			"DGRAPH_EVORAG_SECRET.",
		Example: `  {"mcpServers": {"graph": {"command": "dgraph-evorag", "args": ["mcp", "--server", "http://127.0.0.1:8180"]}}}`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := remote{server: c.server(server)}
			for _, secret := range []struct {
				flag, file, env string
				into            *string
			}{
				{"--token-file", tokenFile, "TOKEN", &r.token},
				{"--admin-file", adminFile, "ACCESS_TOKEN", &r.admin},
				{"--secret-file", secretFile, "SECRET", &r.secret},
			} {
				h, err := secretHeader(secret.flag, secret.file, "Secret", "")
				if err != nil {
					return err
				}
				*secret.into = cmp.Or(h.Get("Secret"), c.Env(config.EnvPrefix+secret.env))
			}
			s := mcp.NewServer(r, c.Version)
			if addr != "" {
				return c.serveMCP(cmd.Context(), addr, s)
			}
			err := s.Run(cmd.Context(), &sdk.IOTransport{Reader: io.NopCloser(c.In), Writer: keepOpen{c.Out}})
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&server, "server", "", "`URL` of the sidecar (default: DGRAPH_EVORAG_SERVER, else "+defaultServer+")")
	f.StringVar(&addr, "http", "", "serve streamable HTTP at `host:port`/mcp in place of standard input and output")
	f.StringVar(&tokenFile, "token-file", "", "`file` with the caller's access token of Dgraph, where it has access control")
	f.StringVar(&adminFile, "admin-file", "", "`file` with the administrators' token (access.token_file), for explain and evolve_dry_run from afar")
	f.StringVar(&secretFile, "secret-file", "", "`file` with the webhook's secret, for rate where it has one")
	return cmd
}

// serveMCP answers at addr until ctx ends.
func (c *command) serveMCP(ctx context.Context, addr string, s *sdk.Server) error {
	var on net.ListenConfig
	l, err := on.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.Handler(s))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Fprintf(c.Err, "MCP at http://%s/mcp\n", l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// keepOpen is an output that the transport doesn't close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// remote is a running sidecar as the tools want it.
type remote struct {
	server string
	token  string // the caller's, of Dgraph
	admin  string // the administrators'
	secret string // the webhook's
}

// Get implements mcp.Sidecar.
func (r remote) Get(ctx context.Context, path string, query url.Values) (raw json.RawMessage, err error) {
	err = get(ctx, r.server, path, query, r.header(r.admin), &raw)
	return raw, err
}

// Post implements mcp.Sidecar.
func (r remote) Post(ctx context.Context, path string, body any) (json.RawMessage, error) {
	bearer := r.admin
	if path == "/evorag/v1/feedback" {
		bearer = cmp.Or(r.secret, r.admin)
	}
	resp, err := post(ctx, r.server, path, r.header(bearer), body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, largestAnswer))
}

func (r remote) header(bearer string) http.Header {
	h := http.Header{}
	if r.token != "" {
		h.Set("X-Dgraph-AccessToken", r.token)
	}
	if bearer != "" {
		h.Set("Authorization", "Bearer "+bearer)
	}
	return h
}
