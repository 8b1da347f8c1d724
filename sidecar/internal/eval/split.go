package eval

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// Kind says what of the questions is held out.
type Kind string

// Kinds of a Split.
const (
	Paraphrase    Kind = "paraphrase"    // other wordings of facts that were rated
	Unseen        Kind = "unseen"        // topic entities about which nothing was rated
	Chronological Kind = "chronological" // what comes later in the file; each earlier question is rated once
	Protocol      Kind = "protocol"      // section 6.1: rated are questions made from other paths of at most two hops around the topics
)

// Kinds are all of them.
var Kinds = []Kind{Paraphrase, Unseen, Chronological, Protocol}

// ErrNoSplit is returned where a set has too few questions of the kind.
var ErrNoSplit = errors.New("the set has too few questions for this split")

// fewest questions on either side of a split.
const fewest = 20

// Split is what is rated and what is held out. No question is on both sides.
type Split struct {
	Kind  Kind
	Train []Question
	Test  []Question
	once  bool // each of Train is rated in one iteration only
}

// Round are the questions that are rated in one of n iterations, from 1.
func (s *Split) Round(iteration, n int) []Question {
	if !s.once {
		return s.Train
	}
	return s.Train[len(s.Train)*(iteration-1)/n : len(s.Train)*iteration/n]
}

// Sizes bound a Split.
type Sizes struct {
	Train int // questions rated in each iteration
	Test  int // questions held out
}

// NewSplit makes a split of a set; the same seed makes the same one. triples are looked at for
// Protocol only. The error is ErrNoSplit.
func NewSplit(kind Kind, s *Set, triples []Triple, iterations int, size Sizes, seed uint64) (*Split, error) {
	r := rand.New(rand.NewPCG(seed, 0x5e7)) //nolint:gosec // reproducible on purpose
	split := &Split{Kind: kind}
	switch kind {
	case Paraphrase:
		split.Train, split.Test = byWording(s.Questions, size, r)
	case Unseen:
		split.Train, split.Test = byTopic(s.Questions, size, r)
	case Chronological:
		cut := len(s.Questions) * 2 / 3
		split.Train, split.once = s.Questions[max(0, cut-size.Train*iterations):cut], true
		split.Test = sample(s.Questions[cut:], size.Test, r)
	case Protocol:
		split.Test = sample(s.Questions, size.Test, r)
		split.Train = aroundTopics(split.Test, triples, size.Train, r)
	default:
		return nil, fmt.Errorf("the split %q is none; write one of %v", kind, Kinds)
	}
	if len(split.Train) < fewest || len(split.Test) < fewest {
		return nil, fmt.Errorf("%s, %s: %w (%d to rate, %d held out; %d are needed)", s.Name, kind, ErrNoSplit, len(split.Train), len(split.Test), fewest)
	}
	return split, nil
}

// sample draws at most n, in random order.
func sample(from []Question, n int, r *rand.Rand) []Question {
	out := slices.Clone(from)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(n, len(out))]
}

// byWording holds out one wording of each fact and rates the others.
func byWording(questions []Question, size Sizes, r *rand.Rand) (train, test []Question) {
	facts := map[string][]Question{}
	for _, q := range questions {
		facts[fact(q)] = append(facts[fact(q)], q)
	}
	keys := slices.Sorted(maps.Keys(facts))
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys {
		wordings := sample(facts[key], len(facts[key]), r)
		if len(wordings) < 2 {
			continue
		}
		if len(test) >= size.Test || len(train)+len(wordings)-1 > size.Train {
			break
		}
		test, train = append(test, wordings[0]), append(train, wordings[1:]...)
	}
	return sample(train, len(train), r), test
}

// fact names what a question asks, apart from its wording.
func fact(q Question) string {
	if q.Group != nil {
		return fmt.Sprint(*q.Group)
	}
	topics, answers := slices.Sorted(slices.Values(q.Topics)), slices.Sorted(slices.Values(q.Answers))
	return strings.Join(topics, "\t") + "\n" + strings.Join(answers, "\t")
}

// byTopic holds out a third of the topic entities with all that is asked about them.
func byTopic(questions []Question, size Sizes, r *rand.Rand) (train, test []Question) {
	topics := map[string]bool{} // whether it is held out
	for _, q := range questions {
		for _, t := range q.Topics {
			topics[t] = false
		}
	}
	names := slices.Sorted(maps.Keys(topics))
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:len(names)/3] {
		topics[name] = true
	}
	for _, q := range questions {
		out := 0
		for _, t := range q.Topics {
			if topics[t] {
				out++
			}
		}
		switch out {
		case 0:
			train = append(train, q)
		case len(q.Topics):
			test = append(test, q)
		}
	}
	return sample(train, size.Train, r), sample(test, size.Test, r)
}

// aroundTopics makes questions from paths of at most two hops that begin at the topics of the
// held-out questions and end at none of their answers. Their wording is a template over the
// relations' names, where the paper let a language model write.
func aroundTopics(test []Question, triples []Triple, n int, r *rand.Rand) []Question {
	type step struct {
		relation, to string
		inverse      bool
	}
	from := map[string][]step{}
	for _, t := range triples {
		from[t[0]] = append(from[t[0]], step{t[1], t[2], false})
		from[t[2]] = append(from[t[2]], step{t[1], t[0], true})
	}
	label := func(s step) string {
		if s.inverse {
			return "~" + s.relation
		}
		return s.relation
	}
	ends := func(node string, steps []string) []string { // all that the relations lead to
		at := []string{node}
		for _, relation := range steps {
			var next []string
			for _, a := range at {
				for _, s := range from[a] {
					if label(s) == relation && s.to != node {
						next = append(next, s.to)
					}
				}
			}
			slices.Sort(next)
			at = slices.Compact(next)
		}
		return at
	}
	var out []Question
	const tries = 20 // a topic may have no other path
	for try := 0; try < n*tries && len(out) < n; try++ {
		q := test[r.IntN(len(test))]
		topic := q.Topics[r.IntN(len(q.Topics))]
		node, steps := topic, []string(nil)
		for range 1 + r.IntN(2) {
			if len(from[node]) == 0 {
				break
			}
			s := from[node][r.IntN(len(from[node]))]
			if s.to == topic {
				break
			}
			node, steps = s.to, append(steps, label(s))
		}
		if len(steps) == 0 || slices.Equal(steps, q.Steps) {
			continue
		}
		answers := ends(topic, steps)
		if len(answers) == 0 || len(answers) > 20 || slices.ContainsFunc(answers, func(a string) bool { return slices.Contains(q.Answers, a) }) {
			continue
		}
		out = append(out, Question{
			ID: fmt.Sprintf("made-%d", len(out)), Text: asked(topic, steps), Topics: []string{topic}, Answers: answers, Hops: len(steps), Steps: steps,
		})
	}
	return out
}

// asked words a path as a question: "What is the director of the sequel of Alien?"
func asked(topic string, steps []string) string {
	text := topic
	for _, s := range steps {
		relation, inverse := strings.CutPrefix(s, "~")
		words := strings.Join(relevance.Words(relation[strings.LastIndex(relation, ".")+1:]), " ")
		if inverse {
			text = "what has " + text + " as its " + words
		} else {
			text = "the " + words + " of " + text
		}
	}
	return "What is " + text + "?"
}
