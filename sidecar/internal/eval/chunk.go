package eval

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mentions is the one relation of a chunk graph: from a text to what it speaks of. Its edges carry
// the scores (section 6.12).
const mentions = "mentions"

// chunkName bounds the text that a chunk's node is shown by and compared with the question by,
// in bytes.
const chunkName = 300

// hasChunks tells whether a set comes with texts: passages.jsonl.gz and triples_prov.tsv, whose
// fourth column is the number of the text that the triplet was drawn from.
func (s *Set) hasChunks() bool {
	for _, name := range []string{"passages.jsonl.gz", "triples_prov.tsv"} {
		if _, err := os.Stat(filepath.Join(s.Dir, name)); err != nil {
			return false
		}
	}
	return true
}

// chunks makes the set over: texts and entities are nodes, an edge says that a text mentions an
// entity, and the answers of a question are the texts that hold its answer.
func (s *Set) chunks() (*Set, []Triple, error) {
	names, err := passages(filepath.Join(s.Dir, "passages.jsonl.gz"))
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(filepath.Join(s.Dir, "triples_prov.tsv"))
	if err != nil {
		return nil, nil, err
	}
	var triples []Triple
	seen := map[Triple]bool{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		parts := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(parts) != 4 {
			return nil, nil, fmt.Errorf("triples_prov.tsv:%d: write head, relation, object and a passage's number", n)
		}
		at, err := strconv.Atoi(parts[3])
		if err != nil || names[at] == "" {
			return nil, nil, fmt.Errorf("triples_prov.tsv:%d: there is no passage %q", n, parts[3])
		}
		for _, entity := range []string{parts[0], parts[2]} {
			if t := (Triple{names[at], mentions, entity}); !seen[t] {
				seen[t] = true
				triples = append(triples, t)
			}
		}
	}
	out := &Set{Name: s.Name + "-chunks", Dir: s.Dir, File: s.File, Hops: longestSearch} // text, entity, text
	for _, q := range s.Questions {
		q.Answers, q.Path, q.Steps = nil, nil, nil
		for _, p := range q.Passages {
			if names[p] != "" {
				q.Answers = append(q.Answers, names[p])
			}
		}
		if len(q.Answers) > 0 {
			out.Questions = append(out.Questions, q)
		}
	}
	return out, triples, nil
}

// passages gives the names of texts by their number: title and beginning, each only once.
func passages(file string) (names map[int]string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	names = map[int]string{}
	taken := map[string]bool{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p struct {
			N     int    `json:"n"`
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name := strings.Join(strings.Fields(p.Title+": "+p.Text), " ")
		if len(name) > chunkName {
			name = strings.ToValidUTF8(name[:chunkName], "")
		}
		if taken[name] {
			name += fmt.Sprintf(" (%d)", p.N)
		}
		taken[name] = true
		names[p.N] = name
	}
	return names, lines.Err()
}

// Chunks is how many of the texts that hold the answer are on the results.
type Chunks struct {
	Set    string   `json:"set"`
	Split  Kind     `json:"split"`
	Test   int      `json:"questions"`
	Before float64  `json:"recall_before"` // of the gold passages, mean over questions
	After  float64  `json:"recall_after"`
	Gain   Interval `json:"gain"`
}

// chunkTrials runs trials on the chunk graph of a set.
func (r *Report) chunkTrials(ctx context.Context, lab Lab, s *Set, o Options) (err error) {
	if !lab.Fresh() {
		r.note(s.Name + ": the chunk graph needs a cluster of its own; leave --dgraph out")
		return nil
	}
	set, triples, err := s.chunks()
	if err != nil {
		return err
	}
	runner, done, err := onChanged(ctx, lab, set, "chunks", triples, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	r.Sets = append(r.Sets, SetInfo{Name: set.Name, Triples: len(triples), Questions: len(set.Questions), Hops: set.Hops})
	arm := Arm{Name: string(Chunk), Evolve: true, Single: true, Settings: settings(nil)}
	for _, kind := range r.Plan.Kinds {
		var before, after [][]Outcome
		for seed := 1; seed <= r.Plan.Seeds; seed++ {
			split, err := NewSplit(kind, set, triples, r.Plan.Iterations, r.Plan.Sizes, uint64(seed)) //nolint:gosec // small
			if errors.Is(err, ErrNoSplit) {
				r.note(err.Error())
				break
			}
			if err != nil {
				return err
			}
			t, err := runner.trial(ctx, split, arm, uint64(seed)) //nolint:gosec // small
			if err != nil {
				return err
			}
			before, after = append(before, t.first().Outcomes), append(after, t.last().Outcomes)
		}
		if len(after) > 0 {
			gain := differences(before, after, func(o Outcome) float64 { return o.Recall })
			r.Chunks = append(r.Chunks, Chunks{set.Name, kind, gain.N, mean(slices.Concat(before...)).Recall, mean(slices.Concat(after...)).Recall, gain})
		}
	}
	return nil
}

// chunks is the part of the report about them.
func (r *Report) chunks() section {
	s := section{ID: "chunks", Title: "Text chunks as nodes (section 6.12)", Text: "The graph has a node for each text, and an edge to each entity that the text mentions; these edges carry the scores. Recall: the share of the texts that hold the answer which are on the ten results."}
	t := table{Head: []string{"set", "held out", "questions", "recall before", "after", "difference"}}
	for _, c := range r.Chunks {
		t.Rows = append(t.Rows, []string{c.Set, string(c.Split), fmt.Sprint(c.Test), share(c.Before), share(c.After), interval(c.Gain)})
	}
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
	}
	return s
}
