package feedback

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/credit"
)

// Scales on which a value may be given.
const (
	scaleStars   = "1-5"
	scaleUnit    = "0-1"
	scaleBoolean = "boolean"
)

// onScale maps a value to a rating from 1 to 5: "1-5" as it is, "0-1" (F1, a probability) as
// 1+4x, "boolean" true to 5 and false to 1. What is out of range is refused, not cut.
func onScale(x float64, scale string) (float64, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("the rating is %v; write a finite number", x)
	}
	switch scale {
	case scaleStars:
		if _, err := credit.Value(x); err != nil {
			return 0, err
		}
		return x, nil
	case scaleUnit:
		if x < 0 || x > 1 {
			return 0, fmt.Errorf("the value %v is not on the scale 0-1", x)
		}
		return 1 + 4*x, nil
	case scaleBoolean:
		switch x {
		case 0:
			return credit.MinRating, nil
		case 1:
			return credit.MaxRating, nil
		}
		return 0, fmt.Errorf("the value %v is not on the scale boolean; write true or false", x)
	}
	return 0, fmt.Errorf("scale is %q; write 1-5, 0-1 or boolean", scale)
}

// number reads a JSON number or boolean; a boolean fits the scale boolean only.
func number(raw json.RawMessage, field, scale string) (float64, error) {
	if !present(raw) { // null can be read as any type
		return 0, fmt.Errorf("%s is missing; write a number", field)
	}
	var b bool
	if json.Unmarshal(raw, &b) == nil {
		if scale != scaleBoolean {
			return 0, fmt.Errorf("%s is a boolean; write a number, or the scale boolean", field)
		}
		if b {
			return 1, nil
		}
		return 0, nil
	}
	var x float64
	if err := json.Unmarshal(raw, &x); err != nil {
		return 0, fmt.Errorf("%s is %s; write a number", field, brief(raw))
	}
	return x, nil
}

// thumb reads "up", "down", true, false, 1 or -1.
func thumb(raw json.RawMessage) (float64, error) {
	switch strings.ToLower(strings.Trim(string(raw), `"`)) {
	case "up", "true", "1":
		return credit.MaxRating, nil
	case "down", "false", "-1":
		return credit.MinRating, nil
	}
	return 0, fmt.Errorf(`thumb is %s; write "up" or "down"`, brief(raw))
}

// plain is the project's own shape.
type plain struct {
	Retrieval string          `json:"retrieval"`
	Score     json.RawMessage `json:"score"`
	Thumb     json.RawMessage `json:"thumb"`
	Value     json.RawMessage `json:"value"`
	Scale     string          `json:"scale"`
	Response  string          `json:"response"`
	Answer    texts           `json:"answer"`
	Source    Source          `json:"source"`
	Rater     string          `json:"rater"`
	Evaluator string          `json:"evaluator"`
	Comment   string          `json:"comment"`
	ID        string          `json:"id"`
}

// texts is one string or a list.
type texts []string

// UnmarshalJSON reads both.
func (t *texts) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = make(texts, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

func (p plain) event() (Event, error) {
	e := Event{
		ID: p.ID, Retrieval: p.Retrieval, Rater: p.Rater, Source: p.Source, Response: p.Response,
		Gold: p.Answer, Evaluator: p.Evaluator, Comment: p.Comment,
	}
	if e.Source == "" {
		e.Source = Human
	}
	given := 0
	for _, raw := range []json.RawMessage{p.Score, p.Thumb, p.Value} {
		if present(raw) {
			given++
		}
	}
	if given > 1 {
		return Event{}, errors.New("more than one rating; send score, thumb or value, not several")
	}
	var err error
	switch {
	case present(p.Score):
		if e.Rating, err = number(p.Score, "score", scaleStars); err == nil {
			e.Rating, err = onScale(e.Rating, scaleStars)
		}
	case present(p.Thumb):
		e.Rating, err = thumb(p.Thumb)
	case present(p.Value):
		if p.Scale == "" {
			return Event{}, errors.New(`value without scale; write "1-5", "0-1" or "boolean"`)
		}
		if e.Rating, err = number(p.Value, "value", p.Scale); err == nil {
			e.Rating, err = onScale(e.Rating, p.Scale)
		}
	}
	return e, err
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// brief is a JSON value short enough for an error.
func brief(raw []byte) string {
	if len(raw) > 40 {
		return string(raw[:40]) + "…"
	}
	return string(raw)
}
