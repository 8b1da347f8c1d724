// Package render turns the engine's JSON and a ranking into the answer's JSON. Numbers,
// strings, key order and duplicate keys stay as the engine wrote them.
package render

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Value is a JSON value whose leaves keep their bytes.
type Value struct {
	Raw     []byte   // of a scalar, or of a container that was not opened
	Members []Member // of an object
	Items   []*Value // of an array
	kind    byte     // '{', '[' or 0
	by      appender // writes it, in place of all others
}

// appender writes a value.
type appender interface{ appendTo(b []byte) []byte }

// Member is one "key": value of an object, in the engine's order.
type Member struct {
	Key   string // decoded
	Value *Value
	raw   []byte // the key as written, quotes included
}

// ErrJSON is returned for text that is not JSON; the engine does not send such.
var ErrJSON = errors.New("the engine's answer is not readable JSON")

// Raw wraps bytes that are already JSON.
func Raw(b []byte) *Value { return &Value{Raw: b} }

// String makes a JSON string.
func String(s string) *Value {
	b, _ := json.Marshal(s) // a string always marshals
	return Raw(b)
}

// Array makes an array of the items.
func Array(items ...*Value) *Value { return &Value{kind: '[', Items: items} }

// Written is the opened answer of a written block, nil in other values. The value is written
// as that stands then, after Close and before Release.
func (v *Value) Written() *Written {
	w, _ := v.by.(*Written)
	return w
}

// IsObject tells an object from other values; IsArray an array.
func (v *Value) IsObject() bool { return v != nil && v.kind == '{' }

// IsArray tells an array from other values.
func (v *Value) IsArray() bool { return v != nil && v.kind == '[' }

// Set appends a member.
func (v *Value) Set(key string, value *Value) {
	v.Members = append(v.Members, Member{Key: key, Value: value, raw: String(key).Raw})
}

// Get returns the first member with the key, or nil.
func (v *Value) Get(key string) *Value {
	for i := range v.Members {
		if v.Members[i].Key == key {
			return v.Members[i].Value
		}
	}
	return nil
}

// Text returns a JSON string's decoded content, and false for other values.
func (v *Value) Text() (string, bool) {
	if v == nil {
		return "", false
	}
	b, ok := text(v.Raw)
	return string(b), ok
}

// AppendTo writes the value.
func (v *Value) AppendTo(b []byte) []byte {
	if v.by != nil {
		return v.by.appendTo(b)
	}
	switch v.kind {
	case '{':
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, m.raw...), ':')
			b = m.Value.AppendTo(b)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, x := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = x.AppendTo(b)
		}
		return append(b, ']')
	}
	return append(b, v.Raw...)
}

// Parse opens a value and everything in it.
func Parse(text []byte) (*Value, error) { return parse(text, -1) }

// ParseMembers opens an object but none of its members' values.
func ParseMembers(text []byte) (*Value, error) {
	v, err := parse(text, 1)
	if err == nil && !v.IsObject() {
		return nil, fmt.Errorf("%w: not an object", ErrJSON)
	}
	return v, err
}

// parse opens depth levels; a negative depth opens all.
func parse(text []byte, depth int) (*Value, error) {
	p := parser{scanner: scanner{text: text}, keys: map[string]string{}}
	v := p.value(depth)
	return v, p.end()
}

// parser opens what a scanner goes through.
type parser struct {
	scanner
	keys   map[string]string // decoded, by their bytes: few keys come up again and again
	values []Value           // room for those to come
}

// new gives room for a value.
func (p *parser) new(v Value) *Value {
	if len(p.values) == 0 {
		p.values = make([]Value, 64)
	}
	out := &p.values[0]
	p.values = p.values[1:]
	*out = v
	return out
}

// decoded is the key that raw spells.
func (p *parser) decoded(raw []byte) string {
	key, ok := p.keys[string(raw)]
	if !ok {
		key, _ = Raw(raw).Text()
		p.keys[string(raw)] = key
	}
	return key
}

func (p *parser) value(depth int) *Value {
	c := p.next()
	if c != '{' && c != '[' {
		return p.new(Value{Raw: p.scalar().of(p.text)})
	}
	if depth == 0 {
		return p.new(Value{Raw: p.skip().of(p.text)})
	}
	p.at++
	v := p.new(Value{kind: c})
	if c == '[' {
		for p.more(']', len(v.Items) == 0) {
			v.Items = append(v.Items, p.value(depth-1))
		}
		return v
	}
	for p.more('}', len(v.Members) == 0) {
		if v.Members == nil {
			v.Members = make([]Member, 0, 4)
		}
		raw := p.key().of(p.text)
		v.Members = append(v.Members, Member{Key: p.decoded(raw), raw: raw, Value: p.value(depth - 1)})
	}
	return v
}
