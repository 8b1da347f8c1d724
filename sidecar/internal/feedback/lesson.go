package feedback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// lesson is a rating that is ready to be applied: what it teaches depends on nothing that
// another rating changes.
type lesson struct {
	stored
	question string
	response string // its own, else the one that is known of the retrieval
	from     *shown
	held     bool // kept to check evolution with, and not learned from
	steps    []credit.ScoreDelta
	weights  []Weighed // over features of today's template; else none
	alpha    float64   // the step of alpha
}

// fate is what becomes of a rating that is no lesson.
type fate struct {
	stored
	status string // waiting or void
	reason string
}

// prepared is a batch of ratings that is ready to be applied.
type prepared struct {
	lessons []lesson
	rest    []fate
	took    time.Duration // to evaluate
	err     error         // the cluster's; nothing is prepared then
}

// Where ratings pile up, batches that become ready within patience of each other are applied
// together. Less is written so: an edge, and the journal's index of it, once for all of them. It
// ends at Options.Most, and where a transaction becomes large.
const (
	patience  = 250 * time.Millisecond
	mostSteps = 20_000 // edges, counted for each rating
)

func (s *Service) together(p, q prepared) bool {
	return p.size()+q.size() <= s.Most && p.steps()+q.steps() <= mostSteps
}

func (p prepared) empty() bool { return p.size() == 0 && p.err == nil }

func (p prepared) size() int { return len(p.lessons) + len(p.rest) }

func (p prepared) steps() (n int) {
	for _, l := range p.lessons {
		n += len(l.steps)
	}
	return n
}

// with is p with the ratings of q after its own.
func (p prepared) with(q prepared) prepared {
	return prepared{append(p.lessons, q.lessons...), append(p.rest, q.rest...), p.took + q.took, q.err}
}

// parts are the ratings of a batch in batches of at most size. The first has the time of all.
func (p prepared) parts(size int) (out []prepared) {
	for part := range slices.Chunk(p.lessons, size) {
		out = append(out, prepared{lessons: part})
	}
	for part := range slices.Chunk(p.rest, size) {
		out = append(out, prepared{rest: part})
	}
	out[0].took = p.took
	return out
}

// ratings are all of a batch.
func (p prepared) ratings() (out []stored) {
	for _, l := range p.lessons {
		out = append(out, l.stored)
	}
	for _, f := range p.rest {
		out = append(out, f.stored)
	}
	return out
}

// rating is the only one of a batch of one.
func (p prepared) rating() stored {
	if len(p.lessons) > 0 {
		return p.lessons[0].stored
	}
	return p.rest[0].stored
}

// prepare turns ratings into lessons, outside any transaction. Those that can't be judged
// now, or never, come back with the reason.
func (s *Service) prepare(ctx context.Context, events []stored, learner credit.Learner) (p prepared) {
	ids := map[string]bool{} // true where a response would be wanted
	for _, e := range events {
		if e.broken != nil {
			continue
		}
		ids[e.Retrieval] = ids[e.Retrieval] || e.Response == ""
	}
	known, err := s.memory.find(ctx, ids)
	if err != nil {
		return prepared{err: err}
	}
	for _, e := range events {
		if e.broken != nil {
			p.rest = append(p.rest, fate{e, statusVoid, e.broken.Error()})
			continue
		}
		r, ok := known[e.Retrieval]
		if ok && r.broken != nil {
			p.rest = append(p.rest, fate{e, statusVoid, r.broken.Error()})
			continue
		}
		if !ok {
			p.rest = append(p.rest, s.absent(e))
			continue
		}
		if e.Response != "" && r.response == "" {
			r.response = e.Response // for those after it that bring none, in later batches too
			s.memory.answered(e.Retrieval, e.Response)
		}
		l, err := s.learn(ctx, e, r, learner)
		switch {
		case ctx.Err() != nil:
			return prepared{err: ctx.Err()}
		case errors.Is(err, credit.ErrNoResponse), errors.Is(err, credit.ErrNoGold), errors.Is(err, errNever):
			p.rest = append(p.rest, fate{e, statusVoid, err.Error()})
		case errors.Is(err, credit.ErrUnusable) && s.unusable.up(e.uid) >= enoughUnusable:
			s.unusable.forget(e.uid)
			p.rest = append(p.rest, fate{e, statusVoid, fmt.Sprintf("evaluated %d times: %v", enoughUnusable, err)})
		case err != nil:
			p.rest = append(p.rest, fate{e, statusWaiting, err.Error()})
		default:
			s.unusable.forget(e.uid)
			p.lessons = append(p.lessons, l)
		}
	}
	return p
}

// enoughUnusable evaluations of a rating, Retry apart, make it void: each may cost calls of a model,
// which says much the same every time.
const enoughUnusable = 3

// errNever is in the chain of errors that time doesn't mend.
var errNever = errors.New("this rating can't be learned from")

// absent is the fate of a rating whose retrieval nobody has stored: it waits while another
// replica may still be writing it, and in vain once the retrieval would be forgotten.
func (s *Service) absent(e stored) fate {
	_, at, err := s.IDs.Parse(e.Retrieval)
	switch {
	case err != nil || s.Now().Sub(at) > s.Keep:
		return fate{e, statusVoid, "the retrieval is not stored (any more)"}
	case at.UnixNano() <= s.dropped.Load():
		return fate{e, statusVoid, "the retrieval went when data were dropped"}
	}
	return fate{e, statusWaiting, "the retrieval is not stored yet"}
}

// learn evaluates one rating and computes its step.
func (s *Service) learn(ctx context.Context, e stored, r *shown, learner credit.Learner) (lesson, error) {
	l := lesson{stored: e, question: r.Question, response: r.responseTo(e), from: r, held: s.Hold != nil && s.Hold(e.Retrieval)}
	utilities, texts, err := s.utilities(ctx, e, r)
	if err != nil {
		return lesson{}, err
	}
	if utilities == nil {
		return l, nil // teaches nothing; it may replace a rating that did
	}
	step, err := learner.Learn(credit.Lesson{
		Retrieval: r.Retrieval, Utilities: utilities, Mentions: credit.Mentions(r.Retrieval, texts...), Rate: s.rate(e.Source),
	})
	if err != nil {
		return lesson{}, errors.Join(errNever, err)
	}
	// Steps are rounded, so that their sums don't depend on how ratings are batched.
	l.steps, l.alpha = slices.Clone(step.Scores), graph.RoundScore(step.Alpha)
	if r.Template == credit.Template {
		l.weights = weighed(step.Weights)
	}
	for i := range l.steps {
		l.steps[i].Delta = graph.RoundScore(l.steps[i].Delta)
	}
	return l, nil
}

// responseTo is the rating's own response, else the one that is known of the retrieval.
func (r *shown) responseTo(e stored) string {
	if e.Response != "" {
		return e.Response
	}
	return r.response
}

// utilities are U_i of each result for a rating, and the texts that say what was right or
// responded. They are nil for a rating that says nothing, which need not be evaluated.
func (s *Service) utilities(ctx context.Context, e stored, r *shown) (u []float64, texts []string, err error) {
	evaluator, err := s.evaluator(e.Evaluator)
	if err != nil {
		return nil, nil, err
	}
	response := r.responseTo(e)
	_, gold := evaluator.(credit.Gold)
	// The reference answers say what is right, whatever was responded: they count in full.
	value, texts := 1.0, e.Gold
	if !gold {
		texts = []string{response}
		if value, err = credit.Value(e.Rating); err != nil {
			return nil, nil, errors.Join(errNever, err)
		}
	}
	if value == 0 {
		return nil, texts, nil
	}
	if !gold && strings.TrimSpace(response) == "" {
		return nil, nil, credit.ErrNoResponse
	}
	evaluations, err := evaluator.Evaluate(ctx, credit.Answer{Question: r.Question, Response: response, Gold: e.Gold}, r.Retrieval)
	if err != nil {
		return nil, nil, err
	}
	if u, err = credit.Utilities(value, s.Gate, r.Retrieval, evaluations); err != nil {
		return nil, nil, errors.Join(errNever, err)
	}
	return u, texts, nil
}

// rate is how much a source's ratings count.
func (s *Service) rate(source Source) float64 {
	if r, ok := s.Rates[source]; ok {
		return r
	}
	return 1
}
