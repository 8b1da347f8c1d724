// Package render turns the engine's JSON and a ranking into the answer's JSON. Numbers,
// strings, key order and duplicate keys stay as the engine wrote them.
package render

import (
	"bytes"
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
}

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

// Object makes an empty object, Array an array.
func Object() *Value { return &Value{kind: '{'} }

// Array makes an array of the items.
func Array(items ...*Value) *Value { return &Value{kind: '[', Items: items} }

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
	if v == nil || len(v.Raw) == 0 || v.Raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(v.Raw, '\\') < 0 { // nothing to decode: the engine writes UTF-8
		return string(v.Raw[1 : len(v.Raw)-1]), true
	}
	var s string
	err := json.Unmarshal(v.Raw, &s)
	return s, err == nil
}

// AppendTo writes the value.
func (v *Value) AppendTo(b []byte) []byte {
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
	if !json.Valid(text) {
		return nil, ErrJSON
	}
	return open(text, depth), nil
}

// open is parse for what is known to be JSON, such as the bytes of a Value.
func open(text []byte, depth int) *Value {
	p := parser{text: text, keys: map[string]string{}}
	return p.value(depth)
}

// parser reads valid JSON, so it needs no error of its own.
type parser struct {
	text   []byte
	at     int
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

// key decodes a key.
func (p *parser) key(raw []byte) string {
	key, ok := p.keys[string(raw)]
	if !ok {
		key, _ = Raw(raw).Text()
		p.keys[string(raw)] = key
	}
	return key
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) *Value {
	p.space()
	c := p.text[p.at]
	if c != '{' && c != '[' {
		return p.new(Value{Raw: p.scalar()})
	}
	if depth == 0 {
		return p.new(Value{Raw: p.skip()})
	}
	v := p.new(Value{kind: c})
	for p.at++; ; {
		p.space()
		switch p.text[p.at] {
		case '}', ']':
			p.at++
			return v
		case ',':
			p.at++
			continue
		}
		if c == '[' {
			v.Items = append(v.Items, p.value(depth-1))
			continue
		}
		raw := p.scalar()
		p.space()
		p.at++ // the colon
		if v.Members == nil {
			v.Members = make([]Member, 0, 4)
		}
		v.Members = append(v.Members, Member{Key: p.key(raw), raw: raw, Value: p.value(depth - 1)})
	}
}

// scalar reads a string, number or word.
func (p *parser) scalar() []byte {
	start := p.at
	if p.text[p.at] == '"' {
		for p.at++; p.text[p.at] != '"'; p.at++ {
			if p.text[p.at] == '\\' {
				p.at++
			}
		}
		p.at++
		return p.text[start:p.at]
	}
	n := bytes.IndexAny(p.text[p.at:], ",]} \t\r\n")
	if n < 0 {
		n = len(p.text) - p.at
	}
	p.at += n
	return p.text[start:p.at]
}

// skip passes a container without opening it.
func (p *parser) skip() []byte {
	start, open := p.at, 0
	for {
		switch p.text[p.at] {
		case '"':
			p.scalar()
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		p.at++
		if open == 0 {
			return p.text[start:p.at]
		}
	}
}
