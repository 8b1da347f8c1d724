package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

const (
	longestLine = 4 << 20
	ratingTime  = 10 * time.Minute
)

// response is one line of a file to be judged.
type response struct {
	Retrieval string `json:"retrieval"` // id from extensions.evorag
	Question  string `json:"question"`
	Response  string `json:"response"`
	Reference string `json:"reference"` // the right answer; empty: none is known
}

// judging is one run of the command.
type judging struct {
	*command
	judge  *llm.Judge
	server string
	header http.Header
	dryRun bool
	from   int

	rated, bad int
	sum        int
}

func (c *command) judgeCommand() *cobra.Command {
	s := &settings{}
	var server, secretFile string
	j := &judging{command: c}
	cmd := &cobra.Command{
		Use: "judge FILE", Short: "Let the chat model rate responses, and send the ratings to the webhook", Args: c.one("one file, or - for standard input"),
		Long: "judge reads JSON lines {\"retrieval\", \"question\", \"response\", \"reference\"}, lets the model rate each\n" +
			"response from 1 to 5 (against the reference where there is one), and sends the ratings to a running\n" +
			"sidecar with source llm. The same line sent twice counts once.",
		Example: "  dgraph-evorag judge answers.jsonl --llm-url http://127.0.0.1:11434/v1 --llm-model qwen3",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := s.load(c.Env)
			if err != nil {
				return err
			}
			if j.judge, err = app.NewJudge(cfg); err != nil {
				return err
			}
			j.server = c.server(server)
			if j.header, err = secretHeader("--secret-file", secretFile, "Authorization", "Bearer "); err != nil {
				return err
			}
			in := c.In
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			return j.run(cmd.Context(), in)
		},
	}
	s.addTo(cmd, "llm.base_url", "llm.model")
	f := cmd.Flags()
	f.StringVar(&server, "server", "", "`URL` of the sidecar (default: DGRAPH_EVORAG_SERVER, else "+defaultServer+")")
	f.StringVar(&secretFile, "secret-file", "", "`file` with the webhook's secret, where it has one")
	f.BoolVar(&j.dryRun, "dry-run", false, "show the ratings, send none")
	f.IntVar(&j.from, "from", 1, "`line` to begin with, to go on after a stop")
	return cmd
}

// run judges line by line. A line that can't be judged is reported and counted; a model or
// sidecar that can't be used ends the run.
func (j *judging) run(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	n := 0
	for lines.Scan() {
		if n++; n < j.from || len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		err := j.line(ctx, n, lines.Bytes())
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, llm.ErrWait) && !errors.Is(err, llm.ErrOutput) && !refused(err), errors.As(err, new(unsent)):
			return fmt.Errorf("line %d: %w (go on with --from %d)", n, err, n)
		default:
			j.bad++
			fmt.Fprintf(j.Err, "line %d: %v\n", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("after line %d: %w", n, err)
	}
	if j.rated > 0 {
		fmt.Fprintf(j.Out, "%s rated, %.2f on average\n", counted(j.rated, "response"), float64(j.sum)/float64(j.rated))
	}
	if j.bad > 0 {
		return fmt.Errorf("%s could not be judged", counted(j.bad, "line"))
	}
	if j.rated == 0 {
		return errors.New("nothing to judge: the file holds no lines")
	}
	return nil
}

func refused(err error) bool {
	var r *llm.Refusal
	return errors.As(err, &r)
}

// unsent is the error of a rating that the sidecar did not take.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

func (j *judging) line(ctx context.Context, n int, raw []byte) error {
	var r response
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return fmt.Errorf(`%w; write {"retrieval": "...", "question": "...", "response": "...", "reference": "..."}`, err)
	}
	if r.Question == "" || r.Retrieval == "" && !j.dryRun {
		return errors.New("question or retrieval is empty; both are needed")
	}
	ctx, cancel := context.WithTimeout(ctx, ratingTime)
	defer cancel()
	rating, err := j.judge.Rate(ctx, llm.Case{Question: r.Question, Response: r.Response, Reference: r.Reference})
	if err != nil {
		return err
	}
	if !j.dryRun {
		if err := j.send(ctx, r, rating); err != nil {
			return err
		}
	}
	j.rated++
	j.sum += rating.Score
	fmt.Fprintf(j.Out, "%d  line %d: %s\n", rating.Score, n, rating.Reason)
	return nil
}

// send posts a rating to the webhook. Its id is made from what was judged, so that the same
// line has one effect, however often it is sent.
func (j *judging) send(ctx context.Context, r response, rating llm.Rating) error {
	h := sha256.New()
	for _, part := range []string{r.Retrieval, r.Question, r.Response, r.Reference, j.judge.Model()} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	body := map[string]any{
		"id":        "judge:" + hex.EncodeToString(h.Sum(nil)[:16]),
		"retrieval": r.Retrieval, "score": rating.Score, "response": r.Response,
		"source": "llm", "rater": "llm:" + j.judge.Model(), "comment": rating.Reason,
	}
	if r.Reference != "" {
		body["answer"] = r.Reference
	}
	resp, err := post(ctx, j.server, "/evorag/v1/feedback", j.header, body)
	var status statusError
	switch {
	case err == nil:
		return resp.Body.Close()
	case errors.As(err, &status) && (status.code == http.StatusBadRequest || status.code == http.StatusGone):
		return err // this line's fault
	}
	return unsent{err}
}
