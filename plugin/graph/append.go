package graph

import (
	"encoding/json"
	"math"
	"strconv"
)

// AppendJSON appends what json.Marshal makes of the retrieval, in a fraction of the time: it stands
// in the way of every ranked answer. The errors are those of json.Marshal too: a number that isn't
// finite.
func (r *Retrieval) AppendJSON(b []byte) ([]byte, error) {
	a := appender{b: b}
	a.text(`{"retrieval":`, r.ID)
	a.b = strconv.AppendUint(append(a.b, `,"namespace":`...), r.Namespace, 10)
	a.textIf(`,"question":`, r.Question)
	a.number(`,"alpha":`, r.Alpha)
	a.text(`,"embedder":`, r.Embedder)
	if len(r.Entities) > 0 {
		a.any(`,"entities":`, r.Entities)
	}
	list(&a, `,"paths":`, r.Results, a.result)
	a.text(`,"context":`, r.Context)
	a.b = strconv.AppendBool(append(a.b, `,"partial":`...), r.Partial)
	a.textIf(`,"reason":`, r.Reason)
	if r.LeftOut != 0 {
		a.int(`,"left_out":`, r.LeftOut)
	}
	a.any(`,"cache":`, r.Cache)
	a.any(`,"relevance":`, r.Relevance)
	a.any(`,"timings":`, r.Timings)
	return append(a.b, '}'), a.err
}

// appender writes JSON as encoding/json does, and keeps the first error.
type appender struct {
	b   []byte
	err error
}

func (a *appender) result(r *Result) {
	a.int(`{"n":`, r.N)
	a.text(`,"block":`, r.Block)
	a.b = append(a.b, `,"start":`...)
	a.node(&r.Start)
	list(a, `,"metapath":`, r.Metapath, func(s *string) { a.text("", *s) })
	a.number(`,"z":`, r.Z)
	a.numberIf(`,"hop_bias":`, r.Bias)
	a.number(`,"p":`, r.P)
	a.int(`,"total":`, r.Total)
	if r.AtLeast {
		a.b = append(a.b, `,"total_at_least":true`...)
	}
	list(a, `,"instances":`, r.Instances, a.instance)
	a.b = append(a.b, '}')
}

func (a *appender) instance(in *Instance) {
	list(a, `{"nodes":`, in.Nodes, a.node)
	list(a, `,"triplets":`, in.Triplets, a.triplet)
	a.number(`,"z":`, in.Z)
	if len(in.Parts) > 0 {
		a.any(`,"parts":`, in.Parts)
	}
	a.b = append(a.b, '}')
}

func (a *appender) node(n *Node) {
	a.uid(`{"uid":`, n.UID)
	a.textIf(`,"name":`, n.Name)
	a.b = append(a.b, '}')
}

func (a *appender) triplet(t *ScoredTriplet) {
	a.uid(`{"head":`, t.Head)
	a.text(`,"predicate":`, t.Predicate)
	a.uid(`,"object":`, t.Object)
	a.text(`,"label":`, t.Label)
	if t.Inverse {
		a.b = append(a.b, `,"inverse":true`...)
	}
	a.number(`,"score":`, t.Score)
	a.number(`,"sr":`, t.Sr)
	a.number(`,"sc":`, t.Sc)
	a.numberIf(`,"asked":`, t.Asked)
	a.number(`,"P":`, t.P)
	a.textIf(`,"via":`, t.Via)
	a.b = append(a.b, '}')
}

// list writes a slice's items; null for a nil one.
func list[T any](a *appender, key string, items []T, item func(*T)) {
	a.b = append(a.b, key...)
	if items == nil {
		a.b = append(a.b, "null"...)
		return
	}
	a.b = append(a.b, '[')
	for i := range items {
		if i > 0 {
			a.b = append(a.b, ',')
		}
		item(&items[i])
	}
	a.b = append(a.b, ']')
}

func (a *appender) int(key string, n int) {
	a.b = strconv.AppendInt(append(a.b, key...), int64(n), 10)
}

func (a *appender) uid(key string, u UID) {
	a.b = strconv.AppendUint(append(append(a.b, key...), `"0x`...), uint64(u), 16)
	a.b = append(a.b, '"')
}

// number writes the sizes that encoding/json writes without an exponent itself.
func (a *appender) number(key string, f float64) {
	if size := math.Abs(f); size != 0 && !(size >= 1e-6 && size < 1e21) {
		a.any(key, f)
		return
	}
	a.b = strconv.AppendFloat(append(a.b, key...), f, 'f', -1, 64)
}

func (a *appender) numberIf(key string, f float64) {
	if f != 0 {
		a.number(key, f)
	}
}

// text writes itself what needs no escapes.
func (a *appender) text(key, s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			a.any(key, s)
			return
		}
	}
	a.b = append(append(append(append(a.b, key...), '"'), s...), '"')
}

func (a *appender) textIf(key, s string) {
	if s != "" {
		a.text(key, s)
	}
}

// any writes what is small or seldom.
func (a *appender) any(key string, v any) {
	b, err := json.Marshal(v)
	if a.err == nil {
		a.err = err
	}
	a.b = append(append(a.b, key...), b...)
}
