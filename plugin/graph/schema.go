package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Schema is what the engine answers to "schema {}": the predicates and types that the
// caller may see, by name. The zero Schema is that of an empty cluster.
type Schema struct {
	Predicates map[string]PredicateSchema
	Types      map[string][]string // a type's fields in their order, "~pred" for an inverse one
}

// PredicateSchema is one predicate's definition.
type PredicateSchema struct {
	Name       string
	Type       string // "uid", "string", "int", "float", "bool", "datetime", "geo", "password", "default", "float32vector", "bigfloat"
	List       bool   // [Type]
	Reverse    bool   // ~Name can be asked for
	Lang       bool
	Index      bool     // by Tokenizers or by Vector
	Tokenizers []string // in the engine's order
	Vector     []VectorIndex
	Upsert     bool
	Unique     bool
	Count      bool
	NoConflict bool
}

// VectorIndex is the index of a float32vector, such as hnsw(metric: "cosine").
type VectorIndex struct {
	Name    string
	Options []VectorOption // in the engine's order
}

// VectorOption is one key: "value" of a VectorIndex.
type VectorOption struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// ParseSchema reads the "data" of an answer to "schema {}".
func ParseSchema(data []byte) (Schema, error) {
	var raw struct {
		Schema []struct {
			Predicate  string   `json:"predicate"`
			Type       string   `json:"type"`
			List       bool     `json:"list"`
			Reverse    bool     `json:"reverse"`
			Lang       bool     `json:"lang"`
			Index      bool     `json:"index"`
			Tokenizer  []string `json:"tokenizer"`
			IndexSpecs []struct {
				Name    string         `json:"name"`
				Options []VectorOption `json:"options"`
			} `json:"index_specs"`
			Upsert     bool `json:"upsert"`
			Unique     bool `json:"unique"`
			Count      bool `json:"count"`
			NoConflict bool `json:"no_conflict"`
		} `json:"schema"`
		Types []struct {
			Name   string `json:"name"`
			Fields []struct {
				Name string `json:"name"`
			} `json:"fields"`
		} `json:"types"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return Schema{}, fmt.Errorf("the engine's schema answer is not readable: %w", err)
	}
	s := Schema{Predicates: make(map[string]PredicateSchema, len(raw.Schema)), Types: make(map[string][]string, len(raw.Types))}
	for _, p := range raw.Schema {
		out := PredicateSchema{
			Name: p.Predicate, Type: p.Type, List: p.List, Reverse: p.Reverse, Lang: p.Lang,
			Index:  p.Index || len(p.IndexSpecs) > 0,
			Upsert: p.Upsert, Unique: p.Unique, Count: p.Count, NoConflict: p.NoConflict,
		}
		for _, x := range p.IndexSpecs {
			out.Vector = append(out.Vector, VectorIndex(x))
		}
		if len(out.Vector) == 0 { // for vectors the engine repeats the index here, unreadably
			out.Tokenizers = p.Tokenizer
		}
		s.Predicates[p.Predicate] = out
	}
	for _, t := range raw.Types {
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = f.Name
		}
		s.Types[t.Name] = fields
	}
	return s, nil
}

// Internal tells predicates and types of the engine and of the extension from the user's own.
func Internal(name string) bool {
	return strings.HasPrefix(name, "evorag.") || strings.HasPrefix(name, "dgraph.")
}

// UIDPredicates names the user's uid predicates, sorted: no evorag.* and no dgraph.*.
func (s Schema) UIDPredicates() []string {
	var out []string
	for name, p := range s.Predicates {
		if p.Type == "uid" && !Internal(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// PathPredicates names the uid predicates that paths are made of, sorted: the user's own, and
// evorag.shortcut where the schema has it.
func (s Schema) PathPredicates() []string {
	out := s.UIDPredicates()
	if s.Predicates[ShortcutPredicate].Type == "uid" {
		out = append(out, ShortcutPredicate)
		slices.Sort(out)
	}
	return out
}

// Relations lists every way in which a path walks edges unless it is told otherwise: each of
// PathPredicates, followed by its inverse where @reverse exists. Shortcuts are not walked
// backwards: where the path under one can be walked back there is one for that way too.
func (s Schema) Relations() []Relation {
	var out []Relation
	for _, name := range s.PathPredicates() {
		out = append(out, Relation{Predicate: name})
		if s.Predicates[name].Reverse && name != ShortcutPredicate {
			out = append(out, Relation{Predicate: name, Inverse: true})
		}
	}
	return out
}

// HasTokenizer reports whether the predicate is indexed by the named tokenizer.
func (p PredicateSchema) HasTokenizer(name string) bool { return slices.Contains(p.Tokenizers, name) }

// String gives the line that defines the predicate in a schema, with every attribute, so
// that altering with it changes nothing.
func (p PredicateSchema) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<%s>: ", p.Name)
	if p.List {
		fmt.Fprintf(&b, "[%s]", p.Type)
	} else {
		b.WriteString(p.Type)
	}
	if index := p.indexes(); len(index) > 0 {
		fmt.Fprintf(&b, " @index(%s)", strings.Join(index, ", "))
	}
	for _, a := range []struct {
		on   bool
		name string
	}{{p.Reverse, "reverse"}, {p.Count, "count"}, {p.Lang, "lang"}, {p.Upsert, "upsert"}, {p.Unique, "unique"}, {p.NoConflict, "noconflict"}} {
		if a.on {
			b.WriteString(" @" + a.name)
		}
	}
	b.WriteString(" .")
	return b.String()
}

func (p PredicateSchema) indexes() []string {
	out := slices.Clone(p.Tokenizers)
	for _, v := range p.Vector {
		options := make([]string, len(v.Options))
		for i, o := range v.Options {
			options[i] = fmt.Sprintf("%s: %q", o.Key, o.Value)
		}
		out = append(out, v.Name+"("+strings.Join(options, ", ")+")")
	}
	return out
}
