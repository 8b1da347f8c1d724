package conformance

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
)

// FuzzRewrite holds any text to the promises that the corpus is held to: a text in which Dgraph's
// lexer sees no directive is let pass; one in which it does is never let pass; and what Dgraph
// can read, and we with the directive on any block, is sent soundly. A seed other than 0 first
// turns words of the text about.
func FuzzRewrite(f *testing.F) {
	entries := corpus(f)
	var pool []string
	for i, e := range entries {
		f.Add(e.text, uint64(0))
		f.Add(e.text, uint64(i+1))
		pool = append(pool, words.FindAllString(e.text, -1)...)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		require.NoError(t, anyText(turned(text, seed, pool)))
	})
}

// TestTextsTurnedAbout is FuzzRewrite over the corpus with many seeds.
func TestTextsTurnedAbout(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	entries := corpus(t)
	var pool []string
	for _, e := range entries {
		pool = append(pool, words.FindAllString(e.text, -1)...)
	}
	n := 0
	for _, e := range entries {
		for seed := range rounds {
			text := turned(e.text, uint64(seed*len(entries)+n+1), pool)
			if err := anyText(text); err != nil {
				t.Errorf("%v\n%q", err, text)
			}
			n++
		}
	}
	t.Logf("%d texts of turned words", n)
}

var words = regexp.MustCompile(`"(?:\\.|[^"\\])*"|[A-Za-z0-9_.]+|\s+|.`)

// turned cuts, repeats, replaces or swaps one to three words of a text; those of the pool come in.
func turned(text string, seed uint64, pool []string) string {
	if seed == 0 {
		return text
	}
	r := rand.New(rand.NewPCG(seed, 0))
	list := words.FindAllString(text, -1)
	for range 1 + r.IntN(3) {
		if len(list) == 0 {
			break
		}
		i, j := r.IntN(len(list)), r.IntN(len(list))
		switch r.IntN(4) {
		case 0:
			list = slices.Delete(list, i, i+1)
		case 1:
			list = slices.Insert(list, i, pool[r.IntN(len(pool))])
		case 2:
			list[i] = pool[r.IntN(len(pool))]
		case 3:
			list[i], list[j] = list[j], list[i]
		}
	}
	return strings.Join(list, "")
}

func anyText(text string) error {
	mentions := dql.Mentions(text)
	if tokens, err := lexed(text); err == nil && dql.FormOf(text) == dql.FormQuery {
		if seesDirective(tokens) && !mentions {
			return errors.New("a directive is let pass")
		}
		if !seesDirective(tokens) && mentions {
			return errors.New("a text without the directive is looked into")
		}
	}
	q, err := dql.Parse(text)
	if err == nil {
		err = withDirectives(q, mentions)
	} else if at := new(dql.Error); errors.As(err, &at) {
		err = nil // refused, with a place
	}
	return err
}

// withDirectives checks the rewriting of a text that has the directive, or of one that Dgraph
// takes with the directive on each of its blocks.
func withDirectives(q *dql.Query, mentions bool) error {
	var y tally
	vars := values(q)
	if mentions {
		return y.rewrite(q.Text, vars)
	}
	if !accepted(q.Text, vars) {
		return nil
	}
	for i := range q.Blocks {
		for _, ranked := range withDirective(q, i) {
			if err := y.rewrite(ranked, vars); err != nil {
				return err
			}
		}
	}
	return nil
}

// seesDirective tells whether a text has the directive for Dgraph's lexer: an @ and the word.
func seesDirective(tokens []token) bool {
	for i := 1; i < len(tokens); i++ {
		if tokens[i-1].text == "@" && strings.EqualFold(tokens[i].text, dql.DirectiveName) {
			return true
		}
	}
	return false
}
