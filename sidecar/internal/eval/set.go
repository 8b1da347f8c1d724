package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Question is one question with its reference answers.
type Question struct {
	ID      string   `json:"id"`
	Text    string   `json:"question"`
	Topics  []string `json:"topic_entities"` // names of nodes
	Answers []string `json:"answers"`        // names of nodes; any of them in full
	Hops    int      `json:"hops"`
	Path    []Triple `json:"gold_path"`     // as the triplets stand in the graph; nil: not known
	Steps   []string `json:"relation_path"` // "~r" for an inverse step; nil: not known
	Group   *int     `json:"group"`         // wordings of one question share it; nil: not told

	Passages []int `json:"gold_passages"` // numbers of texts that hold the answer; nil: not told
}

// Triple is head, relation and object by their names.
type Triple [3]string

// Set is a graph with questions on it, in the normal form: triples.tsv or triples.tsv.gz, and
// questions.jsonl.
type Set struct {
	Name      string
	Dir       string
	File      string // of the triplets
	Size      int    // lines in it
	Questions []Question
	Hops      int // what every question of the set is asked with: enough for 95 of 100, at most 3
}

// longestSearch bounds Set.Hops.
const longestSearch = 3

// ReadSet reads the questions in a folder. Those without a topic entity or an answer are left
// out: nothing could be asked or compared.
func ReadSet(dir string) (*Set, error) {
	s := &Set{Name: filepath.Base(dir), Dir: dir}
	for _, name := range []string{"triples.tsv", "triples.tsv.gz"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			s.File = filepath.Join(dir, name)
		}
	}
	if s.File == "" {
		return nil, fmt.Errorf("%s has no triples.tsv or triples.tsv.gz; name a folder that holds one and questions.jsonl", dir)
	}
	file := filepath.Join(dir, "questions.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var q Question
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		if q.ID == "" || q.Text == "" {
			return nil, fmt.Errorf("%s:%d: id or question is empty", file, n)
		}
		if len(q.Topics) == 0 || len(q.Answers) == 0 {
			continue
		}
		s.Questions = append(s.Questions, q)
	}
	if len(s.Questions) == 0 {
		return nil, fmt.Errorf("%s has no question with topic_entities and answers", file)
	}
	s.Hops = commonHops(s.Questions)
	s.Size, err = s.lines()
	return s, err
}

// commonHops covers nearly all questions: for a few long ones a set is not searched deeper.
func commonHops(questions []Question) int {
	hops := make([]int, len(questions))
	for i, q := range questions {
		hops[i] = min(q.Hops, longestSearch)
	}
	slices.Sort(hops)
	return max(1, hops[len(hops)*95/100])
}

// ReadSets reads a folder with a set, or with a folder for each set; names picks some of them,
// none is all. The smallest comes first: a run that is cut off has most of them.
func ReadSets(dir string, names []string) ([]*Set, error) {
	if _, err := os.Stat(filepath.Join(dir, "questions.jsonl")); err == nil && len(names) == 0 {
		s, err := ReadSet(dir)
		return []*Set{s}, err
	}
	if len(names) == 0 {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if _, err := os.Stat(filepath.Join(dir, e.Name(), "questions.jsonl")); err == nil {
				names = append(names, e.Name())
			}
		}
	}
	var sets []*Set
	for _, name := range names {
		s, err := ReadSet(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	slices.SortStableFunc(sets, func(a, b *Set) int { return cmp.Compare(a.Size, b.Size) })
	if len(sets) == 0 {
		return nil, fmt.Errorf("%s holds no question set; name a folder with triples.tsv and questions.jsonl, or one with such folders", dir)
	}
	return sets, nil
}

// First are the names of the first n sets that are asked for nodes.
func First(sets []*Set, n int) []string {
	var names []string
	for _, s := range sets {
		if len(names) < n && !s.hasChunks() {
			names = append(names, s.Name)
		}
	}
	return names
}

// each calls do with every line of the graph's file, until it gives an error.
func (s *Set) each(do func(n int, line string) error) error {
	f, err := os.Open(s.File)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(s.File, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("%s: %w", s.File, err)
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := do(n, lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (s *Set) lines() (n int, err error) {
	err = s.each(func(int, string) error { n++; return nil })
	return n, err
}

// Triples reads the graph.
func (s *Set) Triples() (triples []Triple, err error) {
	err = s.each(func(n int, line string) error {
		parts := strings.Split(line, "\t")
		if len(parts) < 3 {
			return fmt.Errorf("%s:%d: write head, relation and object between tabs", s.File, n)
		}
		triples = append(triples, Triple(parts[:3]))
		return nil
	})
	return triples, err
}

// writeTriples writes a graph that was changed, for a cluster of its own.
func writeTriples(file string, triples []Triple) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	for _, t := range triples {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", t[0], t[1], t[2]); err != nil {
			return err
		}
	}
	return w.Flush()
}
