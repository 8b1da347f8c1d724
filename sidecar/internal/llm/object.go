package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// schema is a JSON Schema for response_format.
type schema struct {
	name string
	body json.RawMessage
}

// object asks for one JSON object and lets read check it. An object that read refuses is
// asked for once more, with the fault; after that ErrOutput.
func (c *Client) object(ctx context.Context, r request, read func([]byte) error) error {
	said, fault, err := c.attempt(ctx, r, read)
	if err != nil || fault == nil {
		return err
	}
	r.messages = append(r.messages[:len(r.messages):len(r.messages)],
		assistant(cmp.Or(cut(said, 4000), "(nothing)")),
		user("This can't be used: "+fault.Error()+". Write the whole JSON object again, as it was asked for, and nothing else."))
	if _, fault, err = c.attempt(ctx, r, read); err != nil {
		return err
	}
	if fault != nil {
		return fmt.Errorf("%w: %w", ErrOutput, fault)
	}
	return nil
}

// attempt returns what the model said and, if that is no such object, its fault.
func (c *Client) attempt(ctx context.Context, r request, read func([]byte) error) (said string, fault, err error) {
	reply, err := c.complete(ctx, r)
	if errors.Is(err, ErrEmpty) {
		return "", errors.New("it was empty"), nil
	}
	if err != nil {
		return "", nil, err
	}
	body, err := onlyObject(reply.Text)
	if err == nil {
		err = read(body)
	}
	if err != nil && reply.Finish == "length" { // an object that is whole may have blank lines behind it without end
		err = errors.New("it was cut off, too long")
	}
	return reply.Text, err, nil
}

// onlyObject takes the object out of fences and words around it. What is inside is not mended.
func onlyObject(text string) ([]byte, error) {
	if _, after, thought := strings.Cut(text, "</think>"); thought { // of models that think aloud
		text = after
	}
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return nil, errors.New("it holds no JSON object")
	}
	return []byte(text[from : to+1]), nil
}

// members reads a JSON object's members in their order. A key that stands twice is a fault:
// which one is meant can't be known.
func members(raw []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it holds no JSON object")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		name, _ := key.(string) // keys are strings, or Token fails
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%q stands in it twice", name)
		}
		out[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the JSON object")
	}
	return out, nil
}

// exactly checks that an object has these members and no others.
func exactly(got map[string]json.RawMessage, want ...string) error {
	for _, w := range want {
		if _, ok := got[w]; !ok {
			return fmt.Errorf("%q is missing", w)
		}
	}
	if len(got) == len(want) {
		return nil
	}
	known := map[string]bool{}
	for _, w := range want {
		known[w] = true
	}
	for name := range got {
		if !known[name] {
			return fmt.Errorf("%q was not asked for", cut(name, 40))
		}
	}
	return nil
}

// number reads a JSON number in [lo,hi]; strings, null and what lies outside are faults.
func number(raw json.RawMessage, lo, hi float64) (float64, error) {
	var n *float64
	if err := json.Unmarshal(raw, &n); err != nil || n == nil {
		return 0, fmt.Errorf("%s is not a number", cut(string(raw), 40))
	}
	if !(*n >= lo && *n <= hi) {
		return 0, fmt.Errorf("%v is not between %v and %v", *n, lo, hi)
	}
	return *n, nil
}
