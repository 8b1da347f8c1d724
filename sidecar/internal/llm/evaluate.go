package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Evaluator judges with the model what each path had to do with a response.
type Evaluator struct{ client *Client }

// NewEvaluator makes an Evaluator.
func NewEvaluator(c *Client) *Evaluator { return &Evaluator{c} }

// Evaluate judges all results of a retrieval in one call, in their order. Results that the
// context has no room for get the zero Evaluation, which the gate holds back: the model that
// answered has not seen them either. Errors: ErrNoResponse, and those of the client, which
// have ErrWait in their chain; output that is invalid twice is ErrOutput, and that and a *Refusal
// have credit.ErrUnusable in their chain as well.
func (e *Evaluator) Evaluate(ctx context.Context, a credit.Answer, r graph.Retrieval) ([]credit.Evaluation, error) {
	if strings.TrimSpace(a.Response) == "" {
		return nil, ErrNoResponse
	}
	out := make([]credit.Evaluation, len(r.Results))
	p := newPrompt(a.Question, r, e.client.ContextBytes)
	if len(p.lines) == 0 {
		return out, nil
	}
	numbers := make([]string, len(p.lines))
	for i, at := range p.lines {
		numbers[i] = strconv.Itoa(r.Results[at].N)
	}
	err := e.client.object(ctx, request{
		purpose:   "evaluate",
		messages:  p.messages(evaluationTask(a, numbers)),
		maxTokens: 1000 + 60*len(numbers),
		schema:    evaluationSchema(numbers),
	}, func(raw []byte) error { return readEvaluations(raw, numbers, p.lines, out) })
	if errors.Is(err, ErrOutput) || errors.As(err, new(*Refusal)) {
		return nil, fmt.Errorf("%w: %w", credit.ErrUnusable, err)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// evaluationTask stands behind the shared prompt. The example names the shape for servers
// that don't know schemas.
func evaluationTask(a credit.Answer, numbers []string) string {
	var b strings.Builder
	b.WriteString("\n\nDo not answer the question. This response was given to it:\n")
	b.WriteString(quoted(cut(a.Response, longestResponse)))
	if len(a.Gold) > 0 {
		b.WriteString("\n\nThese are the right answers, for comparison:\n")
		for _, g := range a.Gold {
			b.WriteString(quoted(cut(g, longestName)) + "\n")
		}
	}
	b.WriteString(`

Judge what each of the ` + strconv.Itoa(len(numbers)) + ` lines (` + strings.Join(numbers, ", ") + `) had to do with this response, whether the response is right or wrong, with three numbers between -1 and 1:
support: how far the line is evidence for what the response says (1 proves it, 0 has nothing to do with it, -1 is evidence against it).
fidelity: how far the response was drawn from the line (1 it rests on it, 0 it does without, -1 it ignores it although it is about the same).
conflict: how far the line contradicts the response (1 plainly, 0 neither, -1 they agree).
Write one JSON object whose keys are the numbers of all lines, and nothing else:
{"` + numbers[0] + `": {"support": 0.0, "fidelity": 0.0, "conflict": 0.0}` + map[bool]string{true: ", ...", false: ""}[len(numbers) > 1] + `}`)
	return b.String()
}

// evaluationSchema has one member for each line, all required and no others: a server that
// holds to it can leave no line out and add none. The ranges are checked by us; not every
// server takes them in a strict schema.
func evaluationSchema(numbers []string) *schema {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	for i, n := range numbers {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + n + `":{"$ref":"#/$defs/line"}`)
	}
	b.WriteString(`},"required":["` + strings.Join(numbers, `","`) + `"],"additionalProperties":false,"$defs":{"line":{"type":"object",` +
		`"properties":{"support":{"type":"number"},"fidelity":{"type":"number"},"conflict":{"type":"number"}},` +
		`"required":["support","fidelity","conflict"],"additionalProperties":false}}}`)
	return &schema{name: "evaluation", body: json.RawMessage(b.String())}
}

// readEvaluations fills out from an object that is complete and within its ranges.
func readEvaluations(raw []byte, numbers []string, at []int, out []credit.Evaluation) error {
	lines, err := members(raw)
	if err != nil {
		return err
	}
	if err := exactly(lines, numbers...); err != nil {
		return err
	}
	for i, n := range numbers {
		if out[at[i]], err = readEvaluation(lines[n]); err != nil {
			return fmt.Errorf("in %q %w", n, err)
		}
	}
	return nil
}

func readEvaluation(raw json.RawMessage) (e credit.Evaluation, err error) {
	line, err := members(raw)
	if err != nil {
		return e, err
	}
	if err := exactly(line, "support", "fidelity", "conflict"); err != nil {
		return e, err
	}
	for name, to := range map[string]*float64{"support": &e.Support, "fidelity": &e.Fidelity, "conflict": &e.Conflict} {
		if *to, err = number(line[name], -1, 1); err != nil {
			return e, fmt.Errorf("%q: %w", name, err)
		}
	}
	return e, nil
}
