package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
)

// question is the body of POST /evorag/v1/retrieve, as that service documents it.
type question struct {
	Question  string   `json:"question"`
	Entities  []string `json:"entities,omitempty"`
	Count     int      `json:"entity_count,omitempty"`
	Hops      int      `json:"hops,omitempty"`
	Paths     int      `json:"paths,omitempty"`
	Instances int      `json:"instances,omitempty"`
	Fanout    int      `json:"fanout,omitempty"`
	Alpha     *float64 `json:"alpha,omitempty"`
	Bundle    *bool    `json:"bundle,omitempty"`
	Via       []string `json:"via,omitempty"`
	Hidden    bool     `json:"hidden,omitempty"`
	Explain   bool     `json:"explain,omitempty"`
}

const (
	defaultServer = "http://127.0.0.1:8180"
	retrieveTime  = time.Minute
	largestAnswer = 256 << 20
)

func (c *command) retrieveCommand() *cobra.Command {
	var (
		q                         question
		server, output, tokenFile string
		alpha                     float64
		bundle                    bool
	)
	cmd := &cobra.Command{
		Use: `retrieve "QUESTION"`, Short: "Ask a running sidecar for the ranked paths to a question", Args: c.one("one question"),
		Example: `  dgraph-evorag retrieve "Who directed the film that Eva Green starred in?" --hops 3` + "\n" +
			`  dgraph-evorag retrieve -o context "Who directed Skyfall?" | your-model`,
		RunE: func(cmd *cobra.Command, args []string) error {
			show, ok := map[string]func([]byte) error{"table": c.printTable, "json": c.printJSON, "context": c.printContext}[output]
			if !ok {
				return usageError{fmt.Errorf("--output is %q; write table, json or context", output), cmd.CommandPath()}
			}
			q.Question = args[0]
			if cmd.Flags().Changed("alpha") {
				q.Alpha = &alpha
			}
			if cmd.Flags().Changed("bundle") {
				q.Bundle = &bundle
			}
			server = cmp.Or(server, c.Env(config.EnvPrefix+"SERVER"), defaultServer)
			body, err := ask(cmd.Context(), server, tokenFile, q)
			if err != nil {
				return err
			}
			return show(body)
		},
	}
	f := cmd.Flags()
	f.StringVar(&server, "server", "", "`URL` of the sidecar (default: DGRAPH_EVORAG_SERVER, else "+defaultServer+")")
	f.StringVarP(&output, "output", "o", "table", "table, json or context (numbered text for a prompt)")
	f.StringVar(&tokenFile, "token-file", "", "`file` with an access token, for a cluster with access control")
	f.StringArrayVar(&q.Entities, "entity", nil, "start `node`, a name or uid; may be repeated (default: those that the question names)")
	f.IntVar(&q.Count, "entities", 0, "how many start nodes to take from the question")
	f.IntVar(&q.Hops, "hops", 0, "longest path, 1 to 6")
	f.IntVar(&q.Paths, "paths", 0, "results for each start node")
	f.IntVar(&q.Instances, "instances", 0, "paths shown of each result")
	f.IntVar(&q.Fanout, "fanout", 0, "edges followed from one node by one predicate")
	f.Float64Var(&alpha, "alpha", 0, "share of what was learned, 0 to 1")
	f.BoolVar(&bundle, "bundle", true, "false: single paths instead of bundles of paths along the same relations")
	f.StringSliceVar(&q.Via, "via", nil, "`predicates` to follow, ~pred for backwards (default: all)")
	f.BoolVar(&q.Hidden, "hidden", false, "show suppressed edges too")
	f.BoolVar(&q.Explain, "explain", false, "show the named parts of each z")
	return cmd
}

// ask posts the question and returns the answer's JSON.
func ask(ctx context.Context, server, tokenFile string, q question) ([]byte, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("the server %q is not a URL; write one like %s", server, defaultServer)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, retrieveTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath("/evorag/v1/retrieve").String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if tokenFile != "" {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		req.Header.Set("X-Dgraph-AccessToken", strings.TrimSpace(string(token)))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("no sidecar answers at %s (%w); start one with dgraph-evorag up, or name another with --server", server, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, largestAnswer))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(server, resp.StatusCode, answer)
	}
	return answer, nil
}

func refusal(server string, code int, body []byte) error {
	var e struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &e) == nil && e.Error.Message != "" {
		return errors.New(e.Error.Message)
	}
	return fmt.Errorf("%s answered %d %s: is that a dgraph-evorag sidecar?", server, code, http.StatusText(code))
}

func (c *command) printJSON(answer []byte) error {
	_, err := fmt.Fprintf(c.Out, "%s\n", bytes.TrimSpace(answer))
	return err
}

func (c *command) printContext(answer []byte) error {
	var r graph.Retrieval
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("the answer is not a retrieval: %w", err)
	}
	_, err := fmt.Fprintln(c.Out, strings.TrimRight(r.Context, "\n"))
	return err
}

func (c *command) printTable(answer []byte) error {
	var r graph.Retrieval
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("the answer is not a retrieval: %w", err)
	}
	width, err := strconv.Atoi(c.Env("COLUMNS"))
	if err != nil || width < 60 {
		width = 100
	}
	_, err = io.WriteString(c.Out, table(r, width))
	return err
}
