package eval

import (
	"regexp"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/entity"
)

// F1 between the names that a response gives and the reference answers, in [0,1].
func F1(response, gold []string) float64 {
	a, b := set(response), set(gold)
	both := 0
	for name := range a {
		if b[name] {
			both++
		}
	}
	if both == 0 {
		return 0
	}
	return 2 * float64(both) / float64(len(a)+len(b))
}

func set(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		if f := folded(n); f != "" {
			out[f] = true
		}
	}
	return out
}

// Text are ACC, EM and F1 of a response in words, as the paper defines them: whether a
// reference answer stands in it, whether it is one, and the overlap in words with the nearest
// one (or with all of them together, where that is more). Articles, case, punctuation and the
// numbers of cited lines don't count.
func Text(response string, gold []string) (acc, em, f1 float64) {
	r := plain(cited.ReplaceAllString(response, " "))
	all := []string{}
	for _, g := range gold {
		w := plain(g)
		if len(w) == 0 {
			continue
		}
		all = append(all, w...)
		if strings.Contains(" "+strings.Join(r, " ")+" ", " "+strings.Join(w, " ")+" ") {
			acc = 1
		}
		if slices.Equal(r, w) {
			em = 1
		}
		f1 = max(f1, overlap(r, w))
	}
	if len(all) > 0 && slices.Equal(slices.Sorted(slices.Values(r)), slices.Sorted(slices.Values(all))) {
		em = 1
	}
	return acc, em, max(f1, overlap(r, all))
}

// cited matches [3] and [1, 2], with which a model names what it used.
var cited = regexp.MustCompile(`\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]`)

func plain(text string) []string {
	return slices.DeleteFunc(strings.Fields(entity.Normalize(text)), func(w string) bool { return w == "a" || w == "an" || w == "the" })
}

// overlap is F1 over two bags of words.
func overlap(a, b []string) float64 {
	left := map[string]int{}
	for _, w := range b {
		left[w]++
	}
	both := 0
	for _, w := range a {
		if left[w] > 0 {
			left[w]--
			both++
		}
	}
	if both == 0 {
		return 0
	}
	return 2 * float64(both) / float64(len(a)+len(b))
}

// Outcome is how one held-out question went.
type Outcome struct {
	MRR    float64 // 1/rank of the first result that ends at a reference answer
	Hit    float64 // 1: the best result ends at one
	Found  float64 // 1: any result does
	Within float64 // 1: a reference answer is in the first Budget tokens of the context
	ACC    float64 // of the response, see Text
	EM     float64
	F1     float64
	Recall float64 // share of the reference answers that are nodes on the results
	First  int     // see Reading
	Tokens int

	planted []bool // which of the question's planted triplets are on the results
}

func outcome(q Question, r Reading, response string) Outcome {
	o := Outcome{First: r.First, Tokens: r.Tokens, Recall: r.Recall}
	if r.Rank > 0 {
		o.MRR, o.Found = 1/float64(r.Rank), 1
	}
	if r.Rank == 1 {
		o.Hit = 1
	}
	if r.First <= Budget {
		o.Within = 1
	}
	o.ACC, o.EM, o.F1 = Text(response, q.Answers)
	return o
}

// Score is the mean of outcomes.
type Score struct {
	Questions int     `json:"questions"`
	MRR       float64 `json:"mrr"`
	Hit       float64 `json:"hit1"`
	Found     float64 `json:"found"`
	Recall    float64 `json:"recall"`
	Within    float64 `json:"answer_within_budget"`
	ACC       float64 `json:"acc"`
	EM        float64 `json:"em"`
	F1        float64 `json:"f1"`
	Tokens    float64 `json:"context_tokens"` // of the whole context
}

func mean(outcomes []Outcome) Score {
	s := Score{Questions: len(outcomes)}
	for _, o := range outcomes {
		s.MRR += o.MRR
		s.Hit += o.Hit
		s.Found += o.Found
		s.Recall += o.Recall
		s.Within += o.Within
		s.ACC += o.ACC
		s.EM += o.EM
		s.F1 += o.F1
		s.Tokens += float64(o.Tokens)
	}
	if n := float64(len(outcomes)); n > 0 {
		for _, x := range []*float64{&s.MRR, &s.Hit, &s.Found, &s.Recall, &s.Within, &s.ACC, &s.EM, &s.F1, &s.Tokens} {
			*x /= n
		}
	}
	return s
}
