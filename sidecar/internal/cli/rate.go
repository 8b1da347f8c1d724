package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// rating is the body of POST /evorag/v1/feedback, as the webhook documents it.
type rating struct {
	Retrieval string   `json:"retrieval"`
	Score     *float64 `json:"score,omitempty"`
	Response  string   `json:"response,omitempty"`
	Answer    []string `json:"answer,omitempty"`
	Source    string   `json:"source,omitempty"`
	Rater     string   `json:"rater,omitempty"`
	Evaluator string   `json:"evaluator,omitempty"`
	Comment   string   `json:"comment,omitempty"`
	ID        string   `json:"id,omitempty"`
}

func (c *command) rateCommand() *cobra.Command {
	var (
		r          rating
		admin      administrator
		secretFile string
		score      float64
		wait       bool
	)
	cmd := &cobra.Command{
		Use: "rate RETRIEVAL", Short: "Rate an answer: the graph learns from it", Args: c.one("one retrieval id"),
		Long: "rate sends one rating to the webhook of a running sidecar. RETRIEVAL is the id that came with the\n" +
			"ranked paths (extensions.evorag.retrieval, or the last line of \"retrieve\"). A newer rating by the\n" +
			"same rater replaces the older.",
		Example: `  dgraph-evorag rate AQAA... --score 1 --response "21st Century Fox"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Retrieval = args[0]
			if cmd.Flags().Changed("score") {
				r.Score = &score
			}
			header, err := secretHeader("--secret-file", secretFile, "Authorization", "Bearer ")
			if err != nil {
				return err
			}
			resp, err := post(cmd.Context(), c.server(admin.server), "/evorag/v1/feedback", header, r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			var stored struct{ ID string }
			if err := json.NewDecoder(resp.Body).Decode(&stored); err != nil {
				return fmt.Errorf("the answer is not readable: %w", err)
			}
			if !wait {
				fmt.Fprintln(c.Out, "stored as "+stored.ID)
				return nil
			}
			return c.applied(cmd.Context(), admin, stored.ID)
		},
	}
	f := cmd.Flags()
	admin.addTo(cmd)
	f.StringVar(&secretFile, "secret-file", "", "`file` with the webhook's secret, where it has one")
	f.Float64Var(&score, "score", 0, "rating, 1 (bad) to 5 (good)")
	f.StringVar(&r.Response, "response", "", "what was answered; without it that of an earlier rating or of \"ask\" is meant")
	f.StringArrayVar(&r.Answer, "answer", nil, "right `answer`; may be repeated")
	f.StringVar(&r.Source, "source", "", "human, llm or ground_truth (default human)")
	f.StringVar(&r.Rater, "rater", "", "`name` of who rates")
	f.StringVar(&r.Evaluator, "evaluator", "", "embedding, gold or llm (default: the sidecar's)")
	f.StringVar(&r.Comment, "comment", "", "kept with the rating")
	f.StringVar(&r.ID, "id", "", "of this delivery: what is sent again under the same id has no second effect")
	f.BoolVar(&wait, "wait", false, "until the rating has taken effect")
	return cmd
}

// applied waits until a rating is no longer pending and tells what became of it.
func (c *command) applied(ctx context.Context, admin administrator, id string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var now struct {
			Status, Reason string
			Batch          int
		}
		if err := admin.get(ctx, c, "/evorag/v1/feedback/status", url.Values{"id": {id}}, &now); err != nil {
			return err
		}
		switch now.Status {
		case "applied":
			fmt.Fprintf(c.Out, "applied, batch %d of the journal\n", now.Batch)
			return nil
		case "superseded":
			fmt.Fprintln(c.Out, "superseded by a newer rating of the same rater")
			return nil
		case "held":
			fmt.Fprintln(c.Out, "kept to check evolution with (evolution.gate); nothing is learned from it")
			return nil
		case "void":
			return fmt.Errorf("the rating has no effect: %s", now.Reason)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the rating is still %s (%s); it is stored and will be applied", now.Status, now.Reason)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
