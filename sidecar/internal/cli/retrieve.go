package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
)

const (
	defaultServer = "http://127.0.0.1:8180"
	retrieveTime  = time.Minute
	largestAnswer = 256 << 20
)

func (c *command) retrieveCommand() *cobra.Command {
	var (
		q      questionFlags
		output string
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
			body, err := c.retrieve(cmd.Context(), &q, q.asked(cmd, args[0]))
			if err != nil {
				return err
			}
			return show(body)
		},
	}
	q.addTo(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table, json or context (numbered text for a prompt)")
	cmd.Flags().BoolVar(&q.Explain, "explain", false, "show the named parts of each z")
	return cmd
}

// retrieve posts the question and returns the answer's JSON.
func (c *command) retrieve(ctx context.Context, f *questionFlags, q question) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, retrieveTime)
	defer cancel()
	resp, err := c.postQuestion(ctx, "/evorag/v1/retrieve", f, q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, largestAnswer))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return answer, nil
}

// postQuestion sends a question to one of the services that take one.
func (c *command) postQuestion(ctx context.Context, path string, f *questionFlags, q question) (*http.Response, error) {
	header, err := secretHeader("--token-file", f.tokenFile, "X-Dgraph-AccessToken", "")
	if err != nil {
		return nil, err
	}
	return post(ctx, c.server(f.server), path, header, q)
}

// server is the sidecar that is meant: the flag's, the environment's, or the default.
func (c *command) server(flag string) string {
	return cmp.Or(flag, c.Env(config.EnvPrefix+"SERVER"), defaultServer)
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
