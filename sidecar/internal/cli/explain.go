package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// explanation is the answer of GET /evorag/v1/edges/explain.
type explanation struct {
	graph.Triplet
	HeadName   string             `json:"head_name"`
	ObjectName string             `json:"object_name"`
	There      bool               `json:"there"`
	Now        graph.Contribution `json:"now"`
	History    []struct {
		Time     time.Time `json:"time"`
		Batch    int       `json:"batch"`
		Kind     string    `json:"kind"`
		Before   *float64  `json:"before"`
		After    *float64  `json:"after"`
		Rating   float64   `json:"rating"`
		Source   string    `json:"source"`
		Rater    string    `json:"rater"`
		Question string    `json:"question"`
		Response string    `json:"response"`
	} `json:"history"`
}

func (c *command) explainCommand() *cobra.Command {
	var admin administrator
	var output string
	cmd := &cobra.Command{
		Use: "explain HEAD PREDICATE OBJECT", Short: "Tell why an edge's score is what it is",
		Long:    "explain shows an edge's score and its history: the ratings, questions and answers that moved it.\nHEAD and OBJECT are names or uids.",
		Example: `  dgraph-evorag explain "20th Century Studios" owned_by "21st Century Fox"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usageError{fmt.Errorf("%d arguments; write HEAD PREDICATE OBJECT, in quotes where they have spaces", len(args)), cmd.CommandPath()}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "table" && output != "json" {
				return usageError{fmt.Errorf("--output is %q; write table or json", output), cmd.CommandPath()}
			}
			var raw json.RawMessage
			query := url.Values{"head": {args[0]}, "predicate": {args[1]}, "object": {args[2]}}
			if err := admin.get(cmd.Context(), c, "/evorag/v1/edges/explain", query, &raw); err != nil {
				return err
			}
			if output == "json" {
				return c.printJSON(raw)
			}
			var e explanation
			if err := json.Unmarshal(raw, &e); err != nil {
				return fmt.Errorf("the answer is not an explanation: %w", err)
			}
			return printExplanation(c.Out, e)
		},
	}
	admin.addTo(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

func printExplanation(out io.Writer, e explanation) error {
	head, object := named(e.HeadName, e.Head), named(e.ObjectName, e.Object)
	if !e.There && len(e.History) == 0 {
		return errors.New("there is no such edge, and there never was one that was scored: " + head + " -[" + e.Predicate + "]-> " + object)
	}
	fmt.Fprintf(out, "%s -[%s]-> %s\n", head, e.Predicate, object)
	switch {
	case !e.There:
		fmt.Fprintln(out, "the edge is not there any more")
	case e.Now.Updates == 0 && e.Now.Score == graph.NeutralScore:
		fmt.Fprintf(out, "score %.2f: no rating has moved it\n", e.Now.Score)
	default:
		fmt.Fprintf(out, "score %.2f, moved by %s\n", e.Now.Score, counted(e.Now.Updates, "rating"))
	}
	if e.Now.Hidden {
		fmt.Fprintln(out, "suppressed: not shown unless hidden edges are asked for")
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, h := range e.History {
		change := "missing"
		if h.Before != nil && h.After != nil {
			change = fmt.Sprintf("%.2f -> %.2f", *h.Before, *h.After)
		}
		from := h.Source
		if h.Rater != "" {
			from += " " + h.Rater
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%g by %s\t%s\n", h.Time.Local().Format(time.DateTime), h.Kind, change, h.Rating, from, asked(h.Question, h.Response))
	}
	return t.Flush()
}

func named(name string, uid graph.UID) string {
	if name == "" {
		return uid.String()
	}
	return name
}

// asked is a question and its answer on one line.
func asked(question, response string) string {
	text := strings.Join(strings.Fields(question), " ")
	if response != "" {
		text += " → " + strings.Join(strings.Fields(response), " ")
	}
	return text
}
