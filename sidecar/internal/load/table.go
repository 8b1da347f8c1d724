package load

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load/triplefile"
)

const rdfsLabel = "http://www.w3.org/2000/01/rdf-schema#label"

// table is everything that the files say, each thing once. It takes about 100 bytes a triplet.
type table struct {
	name      string // the name predicate: <name> "Eva" names its head
	entities  []entity
	relations []Relation
	edges     []edge
	values    []value
	facets    []string
	doubles   int // edges and values that were said before

	ids   map[entityKey]uint32
	rels  map[key]uint32
	first map[headRelation]uint64 // hash of a head's first value of a relation
	seed  maphash.Seed
}

// entity is a node: known by its IRI where it has one, else by its name.
type entity struct {
	name    string
	iri     string
	labeled bool // the file says the name of an IRI
	uid     graph.UID
	created bool // by this load
}

type entityKey struct {
	text string
	iri  bool
}

type headRelation struct{ head, relation uint32 }

// edge is a triplet by the indices of its parts; facets is an index too, 0 for none.
type edge struct{ relation, head, object, facets uint32 }

type value struct {
	relation, head uint32
	text           string
}

func newTable(namePredicate string) *table {
	return &table{
		name: namePredicate, facets: []string{""},
		ids: map[entityKey]uint32{}, rels: map[key]uint32{}, first: map[headRelation]uint64{}, seed: maphash.MakeSeed(),
	}
}

// add takes in one statement of the file; an error is about the statement alone.
func (t *table) add(file string, s triplefile.Statement) error {
	if s.Object.Kind == triplefile.Literal {
		return t.addValue(file, s)
	}
	e := edge{relation: t.relation(s.Relation, "uid"), head: t.entity(file, s.Head), object: t.entity(file, s.Object)}
	if s.Facets != "" {
		e.facets = uint32(len(t.facets)) //nolint:gosec // fewer than 2^32 lines
		t.facets = append(t.facets, s.Facets)
	}
	t.edges = append(t.edges, e)
	return nil
}

func (t *table) addValue(file string, s triplefile.Statement) error {
	if s.Facets != "" {
		return errors.New("facets on a value are not loaded; write them on edges")
	}
	if s.Relation.Value == rdfsLabel || s.Relation.Value == t.name {
		if s.Object.Value == "" {
			return errors.New("the name is empty")
		}
		e := &t.entities[t.entity(file, s.Head)]
		if !e.labeled || s.Object.Lang == "" || s.Object.Lang == "en" {
			e.name, e.labeled = s.Object.Value, true
		}
		return nil
	}
	kind := valueType(s.Object.Datatype)
	text, err := canonical(kind, s.Object.Value)
	if err != nil {
		return err
	}
	v := value{relation: t.relation(s.Relation, kind), head: t.entity(file, s.Head), text: text}
	r := &t.relations[v.relation]
	r.Type = widest(r.Type, kind)
	hash, at := maphash.String(t.seed, text), headRelation{v.head, v.relation}
	if old, ok := t.first[at]; !ok {
		t.first[at] = hash
	} else if old != hash {
		r.List = true
	}
	t.values = append(t.values, v)
	return nil
}

func (t *table) relation(term triplefile.Term, kind string) uint32 {
	r := Relation{Label: term.Value, Type: kind}
	if term.Kind == triplefile.IRI && strings.Contains(term.Value, ":") {
		r.IRI, r.Label = term.Value, localName(term.Value)
	}
	id, ok := t.rels[r.key()]
	if !ok {
		id = uint32(len(t.relations)) //nolint:gosec // fewer than 2^32 lines
		t.rels[r.key()] = id
		t.relations = append(t.relations, r)
	}
	return id
}

func (t *table) entity(file string, term triplefile.Term) uint32 {
	e := entity{name: term.Value}
	switch term.Kind {
	case triplefile.IRI:
		e.iri, e.name = term.Value, localName(term.Value)
	case triplefile.Blank: // the same file gives the same nodes when it is loaded again
		e.iri, e.name = "_:"+path.Base(file)+"#"+term.Value, "_:"+term.Value
	}
	k := entityKey{cmp.Or(e.iri, e.name), e.iri != ""}
	id, ok := t.ids[k]
	if !ok {
		id = uint32(len(t.entities)) //nolint:gosec // fewer than 2^32 lines
		t.ids[k] = id
		t.entities = append(t.entities, e)
	}
	return id
}

// finish orders edges and values by relation and head and leaves each in once; of several
// equal edges the first one's facets stay.
func (t *table) finish() {
	before := len(t.edges) + len(t.values)
	same := func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.relation, b.relation), cmp.Compare(a.head, b.head), cmp.Compare(a.object, b.object))
	}
	slices.SortStableFunc(t.edges, same)
	t.edges = slices.CompactFunc(t.edges, func(a, b edge) bool { return same(a, b) == 0 })
	slices.SortStableFunc(t.values, func(a, b value) int {
		return cmp.Or(cmp.Compare(a.relation, b.relation), cmp.Compare(a.head, b.head), cmp.Compare(a.text, b.text))
	})
	t.values = slices.Compact(t.values)
	t.doubles = before - len(t.edges) - len(t.values)
	t.ids, t.rels, t.first = nil, nil, nil
}

// localName is what people read of an IRI: the part after the last #, / or :.
func localName(iri string) string {
	s := strings.TrimRight(iri, "#/:")
	if i := strings.LastIndexAny(s, "#/:"); i >= 0 {
		s = s[i+1:]
	}
	return cmp.Or(strings.TrimFunc(s, unicode.IsSpace), iri)
}

// widest is the type that holds values of both.
func widest(a, b string) string {
	switch {
	case a == b:
		return a
	case (a == "int" || a == "float") && (b == "int" || b == "float"):
		return "float"
	}
	return "string"
}

// valueType is Dgraph's type for an XML Schema datatype; what Dgraph has no type for is text.
func valueType(datatype string) string {
	name := datatype[strings.LastIndexAny(datatype, "#:/")+1:]
	switch name {
	case "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "negativeInteger",
		"nonPositiveInteger", "unsignedInt", "unsignedShort", "unsignedByte":
		return "int"
	case "decimal", "double", "float":
		return "float"
	case "boolean", "bool":
		return "bool"
	case "dateTime", "date", "datetime":
		return "datetime"
	}
	return "string"
}

var dateForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02Z07:00", "2006-01-02"}

// canonical writes a value of Dgraph's type so that equal values are equal texts.
func canonical(kind, text string) (string, error) {
	trimmed := strings.TrimSpace(text)
	switch kind {
	case "int":
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil {
			return "", fmt.Errorf("%.40q is not an integer of 64 bits", text)
		}
		return strconv.FormatInt(n, 10), nil
	case "float":
		f, err := strconv.ParseFloat(trimmed, 64)
		if err != nil || f-f != 0 {
			return "", fmt.Errorf("%.40q is not a finite number", text)
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case "bool":
		b, err := strconv.ParseBool(trimmed)
		if err != nil {
			return "", fmt.Errorf("%.40q is neither true nor false", text)
		}
		return strconv.FormatBool(b), nil
	case "datetime":
		for _, form := range dateForms {
			if d, err := time.Parse(form, trimmed); err == nil {
				return d.UTC().Format(time.RFC3339Nano), nil
			}
		}
		return "", fmt.Errorf("%.40q is not a date; write it like 2006-01-02T15:04:05Z", text)
	}
	return text, nil
}
