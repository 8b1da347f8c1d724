package feedback

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decode reads what is posted as JSON: one of the shapes that are taken, a list of them, what Langfuse's clients send, or a
// page as Langfuse's and Phoenix' APIs take and give it.
func decode(body []byte) ([]Event, error) {
	if list := bytes.TrimLeft(body, " \t\r\n"); len(list) > 0 && list[0] == '[' {
		return decodeAll("", list)
	}
	keys, err := keysOf(body)
	switch {
	case err != nil:
		return nil, err
	case present(keys["retrieval"]):
	case keys["batch"] != nil:
		return fromLangfuseBatch(body)
	case keys["data"] != nil:
		return decodeAll("data", keys["data"])
	}
	e, err := decodeOne(body)
	return []Event{e}, err
}

// decodeAll reads a list; of is the field that it stands in.
func decodeAll(of string, list []byte) ([]Event, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, fmt.Errorf("%s is not a list; send ratings, scores or annotations in it, a note can't be learned from", cmp.Or(of, "the body"))
	}
	events := make([]Event, len(all))
	for i, raw := range all {
		var err error
		if events[i], err = decodeOne(raw); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", of, i, err)
		}
	}
	return events, nil
}

func keysOf(body []byte) (keys map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(body, &keys); err != nil {
		return nil, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	return keys, nil
}

// decodeOne reads one JSON object in any of the shapes that are taken: the project's own, a score
// of Langfuse, a feedback of LangSmith, an annotation of Phoenix. Shapes are told
// apart by the keys that only they have.
func decodeOne(body []byte) (Event, error) {
	keys, err := keysOf(body)
	switch {
	case err != nil:
		return Event{}, err
	case present(keys["retrieval"]):
		var p plain
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&p); err != nil {
			return Event{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return Event{}, errors.New("there is more behind the JSON object; send one object")
		}
		return p.event()
	case keys["traceId"] != nil || keys["sessionId"] != nil || keys["dataType"] != nil:
		return fromLangfuse(body)
	case keys["run_id"] != nil || keys["feedback_source"] != nil:
		return fromLangSmith(body)
	case keys["annotator_kind"] != nil:
		return fromPhoenix(body)
	}
	return Event{}, errors.New(`no shape that is known here; send {"retrieval": "...", "score": 1..5}, a Langfuse score, a LangSmith feedback or Phoenix annotations`)
}

// about is what an observability tool carries for us in its metadata.
type about struct {
	Retrieval string `json:"retrieval"`
	Response  string `json:"response"`
	Answer    texts  `json:"answer"`
	Evaluator string `json:"evaluator"`
	Rater     string `json:"rater"`
	Scale     string `json:"scale"` // of the score; where it is left out, each adapter's own
}

// UnmarshalJSON reads an object. Metadata of another kind, which these tools allow, say nothing to us.
func (a *about) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	type bare about
	return json.Unmarshal(b, (*bare)(a))
}

// fill takes the metadata over. id is the traced thing's own id, which may be the retrieval's.
func (a about) fill(e *Event, id string) {
	e.Retrieval = a.Retrieval
	if e.Retrieval == "" {
		e.Retrieval = id
	}
	e.Response, e.Gold, e.Evaluator = a.Response, a.Answer, a.Evaluator
	if a.Rater != "" {
		e.Rater = a.Rater
	}
}

// fromLangfuseBatch reads what Langfuse's clients send: events of which the scores are taken.
func fromLangfuseBatch(body []byte) ([]Event, error) {
	var all struct {
		Batch []struct {
			ID   string          `json:"id"`
			Type string          `json:"type"`
			Body json.RawMessage `json:"body"`
		} `json:"batch"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("the Langfuse events are not readable: %w", err)
	}
	var events []Event
	for i, x := range all.Batch {
		if x.Type != "score-create" {
			continue
		}
		e, err := fromLangfuse(x.Body)
		if err != nil {
			return nil, fmt.Errorf("batch[%d]: %w", i, err)
		}
		e.ID = delivery("langfuse", x.ID, "") // the event's; a changed score comes in another event
		events = append(events, e)
	}
	if len(events) == 0 {
		return nil, errors.New("no event of the type score-create among the Langfuse events")
	}
	return events, nil
}

// fromLangfuse reads a score object of Langfuse, as it is created or as it is read back. NUMERIC, the type
// where none is named, is on the scale 0-1 unless metadata.scale says else. CATEGORICAL has no order
// that is known here; where it is read back with its category's number, metadata.scale says what that means.
func fromLangfuse(body []byte) (Event, error) {
	var s struct {
		ID           string          `json:"id"`
		TraceID      string          `json:"traceId"`
		SessionID    string          `json:"sessionId"`
		Name         string          `json:"name"`
		Source       string          `json:"source"` // API, EVAL, ANNOTATION
		Value        json.RawMessage `json:"value"`
		DataType     string          `json:"dataType"`
		Comment      string          `json:"comment"`
		AuthorUserID string          `json:"authorUserId"`
		UpdatedAt    string          `json:"updatedAt"`
		Metadata     about           `json:"metadata"`
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return Event{}, fmt.Errorf("the Langfuse score is not readable: %w", err)
	}
	e := Event{ID: delivery("langfuse", s.ID, s.UpdatedAt), Source: Human, Rater: cmp.Or(s.AuthorUserID, s.Name), Comment: s.Comment}
	if s.Source == "EVAL" {
		e.Source = LLM
	}
	scale := cmp.Or(s.Metadata.Scale, scaleUnit)
	switch s.DataType {
	case "", "NUMERIC":
	case "BOOLEAN":
		scale = scaleBoolean
	case "CATEGORICAL":
		if s.Metadata.Scale == "" {
			return Event{}, errors.New("a Langfuse category has no order that is known here; send NUMERIC or BOOLEAN, or the category's number with metadata.scale")
		}
	default:
		return Event{}, fmt.Errorf("a Langfuse score of type %s can't be mapped to a rating; send NUMERIC or BOOLEAN", s.DataType)
	}
	x, err := number(s.Value, "value", scale)
	if err == nil {
		e.Rating, err = onScale(x, scale)
	}
	s.Metadata.fill(&e, cmp.Or(s.TraceID, s.SessionID))
	return e, err
}

// fromLangSmith reads a feedback of LangSmith, as its clients create it or as it is read back. A numeric score is on
// the scale that the metadata names, else between the ends that its feedback_config names, else on 0-1.
func fromLangSmith(body []byte) (Event, error) {
	var f struct {
		ID         string          `json:"id"`
		RunID      string          `json:"run_id"`
		TraceID    string          `json:"trace_id"`
		Key        string          `json:"key"`
		Score      json.RawMessage `json:"score"`
		Comment    string          `json:"comment"`
		ModifiedAt string          `json:"modified_at"`
		Source     struct {
			Type     string `json:"type"` // api, app, model, auto_eval
			UserID   string `json:"user_id"`
			Metadata about  `json:"metadata"`
		} `json:"feedback_source"`
		Extra  about `json:"extra"`
		Config struct {
			Min *float64 `json:"min"`
			Max *float64 `json:"max"`
		} `json:"feedback_config"`
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return Event{}, fmt.Errorf("the LangSmith feedback is not readable: %w", err)
	}
	e := Event{ID: delivery("langsmith", f.ID, f.ModifiedAt), Source: Human, Rater: cmp.Or(f.Source.UserID, f.Key), Comment: f.Comment}
	if f.Source.Type == "model" || f.Source.Type == "auto_eval" {
		e.Source = LLM
	}
	from := f.Source.Metadata
	if from.Retrieval == "" {
		from = f.Extra
	}
	if !present(f.Score) {
		return Event{}, errors.New("the LangSmith feedback has no score; only scored feedback can be learned from")
	}
	scale := cmp.Or(from.Scale, scaleUnit)
	if raw := string(f.Score); raw == "true" || raw == "false" {
		scale = scaleBoolean
	}
	x, err := number(f.Score, "score", scale)
	if low, high := f.Config.Min, f.Config.Max; err == nil && from.Scale == "" && scale == scaleUnit && low != nil && high != nil {
		if !(*low < *high && *low <= x && x <= *high) {
			return Event{}, fmt.Errorf("the score %v is not between the ends of its feedback_config, %v and %v", x, *low, *high)
		}
		x = (x - *low) / (*high - *low)
	}
	if err == nil {
		e.Rating, err = onScale(x, scale)
	}
	from.fill(&e, cmp.Or(f.RunID, f.TraceID))
	return e, err
}

// fromPhoenix reads one annotation of a span, trace or session, as it is posted to Phoenix or read back: a score on the scale 0-1 unless metadata.scale says
// else, or a label thumbs-up, thumbs-down, correct, incorrect.
func fromPhoenix(body []byte) (Event, error) {
	var a struct {
		ID            string `json:"id"`
		SpanID        string `json:"span_id"`
		TraceID       string `json:"trace_id"`
		SessionID     string `json:"session_id"`
		Name          string `json:"name"`
		AnnotatorKind string `json:"annotator_kind"` // HUMAN, LLM, CODE
		Identifier    string `json:"identifier"`
		UpdatedAt     string `json:"updated_at"`
		UserID        string `json:"user_id"`
		Document      *int   `json:"document_position"`
		Result        struct {
			Label       string          `json:"label"`
			Score       json.RawMessage `json:"score"`
			Explanation string          `json:"explanation"`
		} `json:"result"`
		Metadata about `json:"metadata"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return Event{}, fmt.Errorf("the Phoenix annotation is not readable: %w", err)
	}
	if a.Document != nil {
		return Event{}, errors.New("the Phoenix annotation is about one document, not about the answer; send annotations of spans, traces or sessions")
	}
	e := Event{ID: delivery("phoenix", a.ID, a.UpdatedAt), Rater: cmp.Or(a.UserID, a.Identifier, a.Name), Comment: a.Result.Explanation}
	switch a.AnnotatorKind {
	case "LLM":
		e.Source = LLM
	case "CODE":
		e.Source = GroundTruth
	default:
		e.Source = Human
	}
	var err error
	switch label := strings.ToLower(a.Result.Label); {
	case present(a.Result.Score):
		scale := cmp.Or(a.Metadata.Scale, scaleUnit)
		var x float64
		if x, err = number(a.Result.Score, "score", scale); err == nil {
			e.Rating, err = onScale(x, scale)
		}
	case label == "thumbs-up" || label == "correct":
		e.Rating, err = onScale(1, scaleBoolean)
	case label == "thumbs-down" || label == "incorrect":
		e.Rating, err = onScale(0, scaleBoolean)
	default:
		err = fmt.Errorf("the Phoenix annotation has neither a score nor a label that is known (thumbs-up, thumbs-down, correct, incorrect): %q", a.Result.Label)
	}
	a.Metadata.fill(&e, cmp.Or(a.SpanID, a.TraceID, a.SessionID))
	return e, err
}

// delivery is the id of one version of another tool's object; "" where it has none.
func delivery(tool, id, version string) string {
	if id == "" {
		return ""
	}
	return strings.TrimRight(tool+":"+id+":"+version, ":")
}
