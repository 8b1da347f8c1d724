// Package feedback takes ratings of answers and teaches the graph from them, each exactly
// once: what is posted is stored before it is acknowledged, evaluated outside any
// transaction, and applied in one transaction with the journal of what it changed.
package feedback

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evorag/dgraph-evorag/plugin/credit"
)

// Source says who rates; each has a rate of its own.
type Source string

// The sources.
const (
	Human       Source = "human"
	LLM         Source = "llm"
	GroundTruth Source = "ground_truth"
)

// Event is one rating of one retrieval, as it is kept.
type Event struct {
	ID        string   `json:"id"`        // of the delivery; one that was seen before has no effect
	Retrieval string   `json:"retrieval"` // the signed id
	Rating    float64  `json:"rating"`    // 1..5; 0 where only reference answers were given
	Rater     string   `json:"rater,omitempty"`
	Source    Source   `json:"source"`
	Response  string   `json:"response,omitempty"`
	Gold      []string `json:"gold,omitempty"`
	Evaluator string   `json:"evaluator,omitempty"` // empty: the configured one
	Comment   string   `json:"comment,omitempty"`
	Trace     string   `json:"trace,omitempty"` // traceparent of the delivery, where it was traced
}

// Key says whose rating of which retrieval it is: a newer one replaces the older. Who gives
// no name is taken for one and the same of his kind.
func (e Event) Key() string {
	rater := e.Rater
	if rater == "" {
		rater = "a " + string(e.Source)
	}
	return e.Retrieval + " " + rater
}

// Longest texts, in bytes.
const (
	maxID      = 512
	maxRater   = 256
	maxComment = 16 << 10
	maxGold    = 1000
)

// check refuses what can't be kept. The retrieval id is checked apart.
func (e Event) check() error {
	for _, text := range []struct {
		field, value string
		most         int
	}{
		{"id", e.ID, maxID}, {"rater", e.Rater, maxRater}, {"comment", e.Comment, maxComment},
		{"retrieval", e.Retrieval, maxID}, {"response", e.Response, maxBody},
	} {
		if len(text.value) > text.most {
			return fmt.Errorf("%s has %d bytes; write at most %d", text.field, len(text.value), text.most)
		}
		if !utf8.ValidString(text.value) {
			return fmt.Errorf("%s is not UTF-8", text.field)
		}
	}
	switch {
	case e.Retrieval == "":
		return errors.New("retrieval is empty; send the id from extensions.evorag.retrieval; of an answer without one extensions.evorag.reason says why it can't be rated")
	case e.Rating == 0 && len(e.Gold) == 0:
		return errors.New(`no rating; send score (1 to 5), thumb ("up", "down"), or value with scale ("1-5", "0-1", "boolean")`)
	case e.Rating == 0 && e.Evaluator != GoldName:
		return errors.New(`reference answers without a rating; send a score with them, or "evaluator": "gold"`)
	case len(e.Gold) > maxGold:
		return fmt.Errorf("answer has %d entries; write at most %d", len(e.Gold), maxGold)
	}
	if e.Rating != 0 {
		if _, err := credit.Value(e.Rating); err != nil {
			return err
		}
	}
	switch e.Source {
	case Human, LLM, GroundTruth:
		return nil
	}
	return fmt.Errorf("source is %q; write human, llm or ground_truth", e.Source)
}

// Names of the built-in evaluators.
const (
	EmbeddingName = "embedding"
	GoldName      = "gold"
)

// Statuses of a rating.
const (
	statusPending    = "pending"    // to be applied
	statusWaiting    = "waiting"    // for its retrieval, or for an evaluator
	statusApplied    = "applied"    // its effect is in the scores
	statusSuperseded = "superseded" // a newer one of the same rater counts
	statusHeld       = "held"       // kept to check evolution with; nothing is learned from it
	statusVoid       = "void"       // has no effect and never will; the reason says why
)

// stored is an event as the cluster has it.
type stored struct {
	uid      string
	received time.Time
	broken   error // it can't be read
	Event
}

// bytes is about what it holds in memory.
func (s stored) bytes() int {
	n := 1024 + len(s.Response) + len(s.Comment)
	for _, g := range s.Gold {
		n += len(g)
	}
	return n
}

// later tells which of two ratings counts: the one that was received later.
func (s stored) later(received time.Time, uid string) bool {
	if !s.received.Equal(received) {
		return s.received.After(received)
	}
	if len(s.uid) != len(uid) { // 0x9 comes before 0x10
		return len(s.uid) > len(uid)
	}
	return strings.Compare(s.uid, uid) > 0
}
