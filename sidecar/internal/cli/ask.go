package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	askTime      = 10 * time.Minute
	longestEvent = 16 << 20
)

// answered is the end of POST /evorag/v1/ask, as that service documents it.
type answered struct {
	Retrieval string `json:"retrieval"`
	Answer    string `json:"answer"`
	CutOff    bool   `json:"cut_off"`
	Citations []struct {
		N    int    `json:"n"`
		Path string `json:"path"`
	} `json:"citations"`
}

func (c *command) askCommand() *cobra.Command {
	var (
		q      questionFlags
		output string
	)
	cmd := &cobra.Command{
		Use: `ask "QUESTION"`, Short: "Ask a running sidecar a question; its chat model answers from the ranked paths", Args: c.one("one question"),
		Example: `  dgraph-evorag ask "Who directed the film that Eva Green starred in?" --hops 3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), askTime)
			defer cancel()
			asked := q.asked(cmd, args[0])
			switch output {
			case "text":
				asked.Stream = true
			case "json":
			default:
				return usageError{fmt.Errorf("--output is %q; write text or json", output), cmd.CommandPath()}
			}
			resp, err := c.postQuestion(ctx, "/evorag/v1/ask", &q, asked)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if asked.Stream {
				return c.printStream(resp.Body)
			}
			body, err := io.ReadAll(io.LimitReader(resp.Body, largestAnswer))
			if err != nil {
				return fmt.Errorf("reading the answer: %w", err)
			}
			return c.printJSON(body)
		},
	}
	q.addTo(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, as it is written, or json")
	return cmd
}

// printStream writes the answer as it comes, then the paths that it cites.
func (c *command) printStream(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestEvent)
	event := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			event = value
		case name == "data" && event == "delta":
			var d struct{ Text string }
			if err := json.Unmarshal([]byte(value), &d); err != nil {
				return fmt.Errorf("the answer is not readable: %w", err)
			}
			fmt.Fprint(c.Out, d.Text)
		case name == "data" && event == "error":
			var e struct{ Message string }
			_ = json.Unmarshal([]byte(value), &e) // an unreadable error is one without words
			fmt.Fprintln(c.Out)
			return errors.New(cmp.Or(e.Message, "the answer ended in an error without words"))
		case name == "data" && event == "done":
			return c.printSources([]byte(value))
		}
	}
	fmt.Fprintln(c.Out)
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return errors.New("the answer ended in the middle: the sidecar has gone")
}

func (c *command) printSources(done []byte) error {
	var a answered
	if err := json.Unmarshal(done, &a); err != nil {
		return fmt.Errorf("the answer is not readable: %w", err)
	}
	fmt.Fprintln(c.Out)
	if a.CutOff {
		fmt.Fprintln(c.Out, "(cut off by llm.max_tokens)")
	}
	if len(a.Citations) > 0 {
		fmt.Fprintln(c.Out)
	}
	for _, cite := range a.Citations {
		fmt.Fprintf(c.Out, "[%d] %s\n", cite.N, cite.Path)
	}
	if a.Retrieval != "" {
		fmt.Fprintf(c.Out, "retrieval %s\n", a.Retrieval)
	}
	return nil
}
