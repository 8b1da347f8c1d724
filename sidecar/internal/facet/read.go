package facet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Query runs a read, within a transaction or at a timestamp.
type Query func(ctx context.Context, text string, vars map[string]string) (data []byte, err error)

// chunk bounds the edges that one query asks for.
const chunk = 2000

const prefix = "evorag.e|"

// Read gives the edges that are there, with all their facets and the facets' types. JSON
// doesn't tell a float 1 from an int, nor a time from a string that looks like one: edges
// with such facets cost a second query.
func Read(ctx context.Context, query Query, triplets []graph.Triplet) (map[graph.Triplet]Edge, error) {
	out := make(map[graph.Triplet]Edge, len(triplets))
	for part := range slices.Chunk(triplets, chunk) {
		if err := read(ctx, query, part, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Exist tells which of the edges are there.
func Exist(ctx context.Context, query Query, triplets []graph.Triplet) (map[graph.Triplet]bool, error) {
	out := make(map[graph.Triplet]bool, len(triplets))
	for part := range slices.Chunk(triplets, chunk) {
		var text strings.Builder
		of := groups(part)
		for i, g := range of {
			text.WriteString(g.block("p"+strconv.Itoa(i), ""))
		}
		err := ask(ctx, query, text.String(), func(block string, head graph.UID, o object) error {
			i, err := strconv.Atoi(block[1:])
			if err == nil {
				out[graph.Triplet{Head: head, Predicate: of[i].predicate, Object: o.uid}] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ReadBeside is Read together with a query of the caller's, in one round trip where the edges are
// few enough. text ends with the brace of its last block and its own; no block of it may be called p0, p1
// and so on. data is the answer to all of it.
func ReadBeside(ctx context.Context, query Query, text string, triplets []graph.Triplet) (data []byte, edges map[graph.Triplet]Edge, err error) {
	edges = make(map[graph.Triplet]Edge, len(triplets))
	first := triplets[:min(len(triplets), chunk)]
	beside := func(ctx context.Context, blocks string, _ map[string]string) ([]byte, error) {
		end := strings.LastIndexByte(text, '}')
		data, err = query(ctx, text[:end]+strings.TrimPrefix(blocks, "{\n"), nil)
		return data, err
	}
	if len(first) == 0 {
		data, err = query(ctx, text, nil)
		return data, edges, err
	}
	doubts, err := readCertain(ctx, beside, first, edges)
	if err == nil && len(doubts) > 0 {
		err = settle(ctx, query, doubts, edges)
	}
	for part := range slices.Chunk(triplets[len(first):], chunk) {
		if err == nil {
			err = read(ctx, query, part, edges)
		}
	}
	return data, edges, err
}

func read(ctx context.Context, query Query, triplets []graph.Triplet, out map[graph.Triplet]Edge) error {
	doubts, err := readCertain(ctx, query, triplets, out)
	if err != nil || len(doubts) == 0 {
		return err
	}
	return settle(ctx, query, doubts, out)
}

// readCertain reads edges and gives back the facets whose types it can't tell.
func readCertain(ctx context.Context, query Query, triplets []graph.Triplet, out map[graph.Triplet]Edge) ([]doubt, error) {
	wanted := make(map[graph.Triplet]bool, len(triplets))
	for _, t := range triplets {
		wanted[t] = true
	}
	var text strings.Builder
	of := groups(triplets)
	for i, g := range of {
		text.WriteString(g.block("p"+strconv.Itoa(i), "@facets"))
	}
	var doubts []doubt
	err := ask(ctx, query, text.String(), func(block string, head graph.UID, o object) error {
		i, err := strconv.Atoi(block[1:])
		if err != nil {
			return err
		}
		t := graph.Triplet{Head: head, Predicate: of[i].predicate, Object: o.uid}
		if !wanted[t] {
			return nil
		}
		e, unsure, err := edge(t, o)
		out[t] = e
		doubts = append(doubts, unsure...)
		return err
	})
	return doubts, err
}

// doubt is a facet whose type the JSON doesn't tell.
type doubt struct {
	graph.Triplet
	key  string
	text string // as the type that is less usual: a float, a string
	test string // a filter that only a facet of that type passes
}

// edge takes the facets of one edge apart.
func edge(t graph.Triplet, o object) (Edge, []doubt, error) {
	e := Edge{Triplet: t, Contribution: graph.Neutral()}
	var doubts []doubt
	for key, raw := range o.facets {
		var err error
		switch key {
		case Score:
			err = json.Unmarshal(raw, &e.Score)
			e.Learned = true
		case N:
			err = json.Unmarshal(raw, &e.Updates)
		case Low:
			err = json.Unmarshal(raw, &e.Low)
		case Hidden:
			err = json.Unmarshal(raw, &e.Hidden)
		default:
			var text string
			var unsure *doubt
			text, unsure, err = spell(key, raw)
			e.others = append(e.others, other{key, text})
			if unsure != nil {
				unsure.Triplet = t
				doubts = append(doubts, *unsure)
			}
		}
		if err != nil {
			return Edge{}, nil, fmt.Errorf("the facet %s of %s <%s> %s is %s: %w", key, t.Head, t.Predicate, t.Object, raw, err)
		}
	}
	e.touched = e.Updates > 0
	slices.SortFunc(e.others, func(a, b other) int { return cmp.Compare(a.key, b.key) })
	return e, doubts, nil
}

// spell writes a facet's JSON value as N-Quads do. The doubt, if any, has the other spelling.
func spell(key string, raw json.RawMessage) (string, *doubt, error) {
	switch raw[0] {
	case 't', 'f':
		return string(raw), nil, nil
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", nil, err
		}
		quoted := graph.Quote(s)
		if !looksLikeTime(s) {
			return quoted, nil, nil
		}
		return s, &doubt{key: key, text: quoted, test: fmt.Sprintf("allofterms(%s, %s)", key, quoted)}, nil
	default:
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return "", nil, err
		}
		if bytes.ContainsAny(raw, ".e") {
			return Float(f), nil, nil
		}
		// 1e308 is no int: only floats compare with it.
		return string(raw), &doubt{key: key, text: Float(f), test: fmt.Sprintf(`lt(%s, "1e308")`, key)}, nil
	}
}

// looksLikeTime tells what Dgraph prints for a time.
func looksLikeTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// settle asks which of the doubtful facets are of the less usual type.
func settle(ctx context.Context, query Query, doubts []doubt, out map[graph.Triplet]Edge) error {
	type kind struct{ predicate, test string }
	at := map[kind][]doubt{}
	var kinds []kind
	for _, d := range doubts {
		k := kind{d.Predicate, d.test}
		if at[k] == nil {
			kinds = append(kinds, k)
		}
		at[k] = append(at[k], d)
	}
	for part := range slices.Chunk(kinds, 100) {
		var text strings.Builder
		for i, k := range part {
			g := group{predicate: k.predicate}
			for _, d := range at[k] {
				g.heads, g.objects = append(g.heads, d.Head), append(g.objects, d.Object)
			}
			text.WriteString(g.block("p"+strconv.Itoa(i), "@facets("+k.test+")"))
		}
		err := ask(ctx, query, text.String(), func(block string, head graph.UID, o object) error {
			i, err := strconv.Atoi(block[1:])
			if err != nil {
				return err
			}
			for _, d := range at[part[i]] {
				if d.Head != head || d.Object != o.uid {
					continue
				}
				others := out[d.Triplet].others
				for j := range others {
					if others[j].key == d.key {
						others[j].text = d.text
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// object is the far end of an edge with the edge's facets by key.
type object struct {
	uid    graph.UID
	facets map[string]json.RawMessage
}

// ask runs a query of blocks and hands on each edge of its answer.
func ask(ctx context.Context, query Query, blocks string, each func(block string, head graph.UID, o object) error) error {
	if blocks == "" {
		return nil
	}
	data, err := query(ctx, "{\n"+blocks+"}", nil)
	if err != nil {
		return err
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("the engine's answer about edges is not readable: %w", err)
	}
	for block, raw := range answer {
		if !ours(block) {
			continue
		}
		var heads []struct {
			UID   graph.UID       `json:"evorag.u"`
			Edges json.RawMessage `json:"evorag.e"`
		}
		if err := json.Unmarshal(raw, &heads); err != nil {
			return fmt.Errorf("the engine's answer about edges is not readable: %w", err)
		}
		for _, head := range heads {
			objects, err := objectsOf(head.Edges)
			if err != nil {
				return fmt.Errorf("the engine's answer about edges is not readable: %w", err)
			}
			for _, o := range objects {
				if err := each(block, head.UID, o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ours tells the blocks that group.block wrote: p and a number.
func ours(block string) bool {
	return len(block) > 1 && block[0] == 'p' && strings.Trim(block[1:], "0123456789") == ""
}

// objectsOf reads a list of far ends, or the one of a predicate that holds at most one.
func objectsOf(raw json.RawMessage) ([]object, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var maps []map[string]json.RawMessage
	var err error
	if raw[0] == '[' {
		err = json.Unmarshal(raw, &maps)
	} else {
		maps = make([]map[string]json.RawMessage, 1)
		err = json.Unmarshal(raw, &maps[0])
	}
	if err != nil {
		return nil, err
	}
	out := make([]object, len(maps))
	for i, m := range maps {
		out[i].facets = map[string]json.RawMessage{}
		for key, value := range m {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				out[i].facets[name] = value
			} else if key == "evorag.u" {
				if err := json.Unmarshal(value, &out[i].uid); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}
