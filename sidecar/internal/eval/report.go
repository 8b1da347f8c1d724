package eval

import (
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Report is everything that was measured, as it is written in JSON.
type Report struct {
	Version string    `json:"version"`
	Command string    `json:"command"`
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"`
	Model   string    `json:"model,omitempty"` // chat model that answered; empty: none
	Plan    Plan      `json:"plan"`
	Budget  int       `json:"budget_tokens"`

	Sets    []SetInfo      `json:"sets"`
	Trials  []*Trial       `json:"trials"`
	Gains   []Gain         `json:"gains"`
	Curves  []Curve        `json:"token_curves"`
	Planted []PlantedCases `json:"planted,omitempty"`
	Refined []Refined      `json:"refined,omitempty"`
	Batches []BatchTime    `json:"batches,omitempty"`
	Chunks  []Chunks       `json:"chunks,omitempty"`
	Bars    []Bar          `json:"bars"`
	Notes   []string       `json:"notes,omitempty"` // what was left out, and why
}

// SetInfo is the size of a set.
type SetInfo struct {
	Name      string  `json:"name"`
	Triples   int     `json:"triples"`
	Questions int     `json:"questions"`
	Hops      int     `json:"hops"`
	LoadS     float64 `json:"load_seconds"` // start of the engine included, where it is private
}

// WriteJSON writes the report, indented.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// ErrBars is returned by Check where a bar is missed.
var ErrBars = errors.New("bars are missed")

// note adds what a reader must know.
func (r *Report) note(text string) { r.Notes = append(r.Notes, text) }
