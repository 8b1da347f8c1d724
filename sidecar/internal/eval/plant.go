package eval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Fault is what is wrong with a planted triplet.
type Fault string

// Faults (Figure 3).
const (
	Wrong      Fault = "wrong"      // at the answer's relation, an object of another relation
	Outdated   Fault = "outdated"   // at the answer's relation, another object of it: what once was so
	Irrelevant Fault = "irrelevant" // at the topic, a relation that the question does not ask for
	LongPath   Fault = "long path"  // nothing is planted: the answer is a hop further than is searched
)

// planted is one triplet that was put into the graph.
type planted struct {
	fault  Fault
	triple Triple
}

// plant adds to the graph, for each of the questions, one triplet of each fault. A triplet that
// is in the graph already is not planted.
func plant(triples []Triple, questions []Question, r *rand.Rand) (all []Triple, by map[string][]planted) {
	objects := map[string][]string{}
	there := map[Triple]bool{}
	for _, t := range triples {
		objects[t[1]] = append(objects[t[1]], t[2])
		there[t] = true
	}
	relations := slices.Sorted(maps.Keys(objects))
	all, by = slices.Clone(triples), map[string][]planted{}
	add := func(q Question, f Fault, t Triple) {
		if t[0] != t[2] && !there[t] && !slices.Contains(q.Answers, t[0]) && !slices.Contains(q.Answers, t[2]) {
			there[t] = true
			all, by[q.ID] = append(all, t), append(by[q.ID], planted{f, t})
		}
	}
	for _, q := range questions {
		if len(q.Path) == 0 || len(q.Path) != len(q.Steps) {
			continue
		}
		last := q.Path[len(q.Path)-1]
		other := relations[r.IntN(len(relations))]
		from := func(relation string) string { return objects[relation][r.IntN(len(objects[relation]))] }
		put := func(node string) Triple { // in the answer's place
			if strings.HasPrefix(q.Steps[len(q.Steps)-1], "~") {
				return Triple{node, last[1], last[2]}
			}
			return Triple{last[0], last[1], node}
		}
		if other != last[1] {
			add(q, Wrong, put(from(other)))
		}
		if strings.HasPrefix(q.Steps[len(q.Steps)-1], "~") {
			t := triples[r.IntN(len(triples))]
			add(q, Outdated, put(t[0]))
		} else {
			add(q, Outdated, put(from(last[1])))
		}
		stray := relations[r.IntN(len(relations))]
		if !slices.ContainsFunc(q.Path, func(t Triple) bool { return t[1] == stray }) {
			add(q, Irrelevant, Triple{q.Topics[0], stray, from(stray)})
		}
	}
	return all, by
}

// shows tells which of a question's planted triplets are on the results: as edges, or inside a
// shortcut that ends at their object.
func shows(found *graph.Retrieval, all []planted) []bool {
	edges, shortcuts := map[Triple]bool{}, map[string]bool{}
	for _, r := range found.Results {
		for _, in := range r.Instances {
			for i, t := range in.Triplets {
				head, object := in.Nodes[i].Name, in.Nodes[i+1].Name
				if t.Inverse {
					head, object = object, head
				}
				edges[Triple{folded(head), folded(t.Label), folded(object)}] = true
				if strings.HasPrefix(t.Predicate, "evorag.") {
					shortcuts[folded(object)] = true
				}
			}
		}
	}
	out := make([]bool, len(all))
	for i, p := range all {
		t := p.triple
		out[i] = edges[Triple{folded(t[0]), folded(t[1]), folded(t[2])}] || shortcuts[folded(t[2])]
	}
	return out
}

// PlantedCases is how many of the planted triplets of one fault are still on the results of
// held-out questions after the last iteration; for LongPath, how many answers are missed.
type PlantedCases struct {
	Set     string  `json:"set"`
	Fault   Fault   `json:"fault"`
	Cases   int     `json:"cases"`
	Before  int     `json:"before"` // cases in which the static system retrieves the triplet, or misses the answer
	Left    int     `json:"left"`   // of those, where the learned one still does
	Gone    float64 `json:"gone"`   // share
	Recall  float64 `json:"recall_before"`
	After   float64 `json:"recall_after"` // answers among the results
	Results int     `json:"results"`      // asked for, before and after
}

// plantFaults runs a trial on a graph with planted triplets.
func (r *Report) plantFaults(ctx context.Context, lab Lab, s *Set, triples []Triple, o Options) (err error) {
	if !lab.Fresh() {
		r.note(s.Name + ": planted triplets need a cluster of their own; leave --dgraph out")
		return nil
	}
	size := r.Plan.Sizes
	split, err := NewSplit(Paraphrase, s, triples, r.Plan.Iterations, size, 1)
	if errors.Is(err, ErrNoSplit) {
		r.note("planted triplets: " + err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	changed, by := plant(triples, split.Test, rand.New(rand.NewPCG(1, 0x91a))) //nolint:gosec // reproducible on purpose
	if len(by) == 0 {
		r.note(s.Name + ": planted triplets need questions with gold_path and relation_path")
		return nil
	}
	runner, done, err := onChanged(ctx, lab, s, "planted", changed, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	runner.planted = by
	nearer := Probe{string(LongPath), func(a *ask) { a.Hops-- }}
	arm := Arm{Name: string(Plant), Evolve: true, Settings: settings(nil)}
	if s.Hops > 1 {
		arm.Probes = []Probe{nearer}
	}
	t, err := runner.trial(ctx, split, arm, 1)
	if err != nil {
		return err
	}
	r.Planted = append(r.Planted, countPlanted(s.Name, split.Test, by, t)...)
	return nil
}

// resultsAsked is the sidecar's default number of results.
const resultsAsked = 10

func countPlanted(set string, test []Question, by map[string][]planted, t *Trial) []PlantedCases {
	first, last := t.first(), t.last()
	var out []PlantedCases
	for _, fault := range []Fault{Wrong, Outdated, Irrelevant} {
		c := PlantedCases{Set: set, Fault: fault, Recall: first.Score.Found, After: last.Score.Found, Results: resultsAsked}
		for i, q := range test {
			for j, p := range by[q.ID] {
				if p.fault != fault {
					continue
				}
				c.Cases++
				if first.Outcomes[i].planted[j] {
					c.Before++
					if last.Outcomes[i].planted[j] {
						c.Left++
					}
				}
			}
		}
		out = append(out, c)
	}
	if before, ok := t.probe(string(LongPath), 0); ok {
		after, _ := t.probe(string(LongPath), last.Iteration)
		c := PlantedCases{Set: set, Fault: LongPath, Recall: before.Score.Found, After: after.Score.Found, Results: resultsAsked}
		for i := range before.Outcomes {
			c.Cases++
			if before.Outcomes[i].Found == 0 {
				c.Before++
				if after.Outcomes[i].Found == 0 {
					c.Left++
				}
			}
		}
		out = append(out, c)
	}
	for i := range out {
		if out[i].Before > 0 {
			out[i].Gone = 1 - float64(out[i].Left)/float64(out[i].Before)
		}
	}
	return out
}

// onChanged opens a cluster for a graph that was changed; done closes it.
func onChanged(ctx context.Context, lab Lab, s *Set, what string, triples []Triple, o Options) (*runner, func() error, error) {
	dir, err := os.MkdirTemp("", "evorag-eval-")
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "triples.tsv")
	if err := writeTriples(file, triples); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	o.Progress("%-16s loading %d triplets (%s)", s.Name, len(triples), what)
	cluster, err := lab.Open(ctx, s.Name+"-"+what, file)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	done := func() error { return errors.Join(cluster.Close(), os.RemoveAll(dir)) }
	runner, err := newRunner(o, cluster, s)
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return runner, done, nil
}

// planted is the part of the report about them.
func (r *Report) planted() section {
	s := section{ID: "planted", Title: "Planted faults (Figures 3 and 7)", Text: "Triplets are put into the graph around held-out questions whose other wordings are rated. Before: on the results of the static system; left: of those, still on the results after the last iteration, with as many results. Long path: answers that are missed when searched one hop less deep than they are."}
	t := table{Head: []string{"set", "fault", "cases", "before", "left", "gone", "answers found before", "after"}}
	var groups []string
	gone := series{Name: "gone"}
	for _, p := range r.Planted {
		t.Rows = append(t.Rows, []string{p.Set, string(p.Fault), fmt.Sprint(p.Cases), fmt.Sprint(p.Before), fmt.Sprint(p.Left), percent(p.Gone), share(p.Recall), share(p.After)})
		groups, gone.Y = append(groups, p.Set+", "+string(p.Fault)), append(gone.Y, p.Gone)
	}
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
		const perChart = 4
		for from := 0; from < len(groups); from += perChart {
			to := min(len(groups), from+perChart)
			s.Charts = append(s.Charts, chart{"share of faults gone", columns("share of faults gone", "share", groups[from:to], []series{{Name: "gone", Y: gone.Y[from:to]}})})
		}
	}
	return s
}
