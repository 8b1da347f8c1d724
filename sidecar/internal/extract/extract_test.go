package extract_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/extract"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

// reader answers by what stands in the chunk.
type reader struct {
	mu    sync.Mutex
	says  map[string]llm.Extract
	fails map[string]error
	calls []string
}

func (r *reader) Model() string { return "m" }

func (r *reader) Extract(_ context.Context, text string) (llm.Extract, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, text)
	for part, err := range r.fails {
		if strings.Contains(text, part) {
			return llm.Extract{}, err
		}
	}
	return r.says[text], nil
}

const alien, heat = "Alien was directed by Ridley Scott.", "Heat was directed by Michael Mann."

func films() *reader {
	return &reader{says: map[string]llm.Extract{
		alien: {Entities: []string{"Alien", "Ridley Scott", "Sigourney Weaver"}, Facts: []llm.Fact{{Head: "Alien", Relation: "directed by", Object: "Ridley Scott"}, {Head: "Alien", Relation: "stars", Object: "Sigourney Weaver"}}},
		heat:  {Entities: []string{"Heat"}, Facts: []llm.Fact{{Head: "Heat", Relation: "directed by", Object: "Michael Mann"}}},
	}}
}

func files(t *testing.T, texts ...string) (names []string, output string) {
	t.Chdir(t.TempDir())
	for i, text := range texts {
		names = append(names, fmt.Sprintf("%c.txt", 'a'+i))
		require.NoError(t, os.WriteFile(names[i], []byte(text), 0o600))
	}
	return names, "out.jsonl"
}

func TestChunksBecomeTripletsWithTheirProvenance(t *testing.T) {
	names, out := files(t, alien, heat)
	var told []extract.Progress
	r, err := extract.Run(t.Context(), extract.Options{Files: names, Output: out, Extractor: films(), Workers: 1,
		Progress: func(p extract.Progress) { told = append(told, p) }})
	require.NoError(t, err)
	require.Equal(t, extract.Report{Files: 2, Chunks: 2, Facts: 2, Mentions: 3, Dropped: 2}, r, "what the text doesn't hold is left out")
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, `{"head":"a.txt #1","relation":"text","value":"Alien was directed by Ridley Scott."}
{"head":"a.txt #1","relation":"mentions","object":"Alien"}
{"head":"a.txt #1","relation":"mentions","object":"Ridley Scott"}
{"head":"Alien","relation":"directed by","object":"Ridley Scott"}
{"head":"b.txt #1","relation":"text","value":"Heat was directed by Michael Mann."}
{"head":"b.txt #1","relation":"mentions","object":"Heat"}
{"head":"Heat","relation":"directed by","object":"Michael Mann"}
`, string(text))
	require.Equal(t, []extract.Progress{{Done: 1, Total: 2}, {Done: 2, Total: 2}}, told)
}

func TestARunGoesOnWhereItEnded(t *testing.T) {
	names, out := files(t, alien, heat)
	model := films()
	model.fails = map[string]error{"Heat": llm.ErrBusy}
	run := func() (extract.Report, error) {
		return extract.Run(t.Context(), extract.Options{Files: names, Output: out, Extractor: model, Workers: 1})
	}
	_, err := run()
	require.ErrorIs(t, err, llm.ErrBusy, "a server that can't be used ends the run")
	require.NoFileExists(t, out, "whole or not at all")

	said := out + ".said"
	whole, err := os.ReadFile(said)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(said, append(whole, `{"key":"cut of`...), 0o600))
	model.fails, model.calls = nil, nil
	r, err := run()
	require.NoError(t, err)
	require.Equal(t, []string{heat}, model.calls, "what was read is not asked again, what a crash cut off is")
	require.Equal(t, 1, r.Known)
	require.Equal(t, 2, r.Facts)

	first, err := os.ReadFile(out)
	require.NoError(t, err)
	model.calls = nil
	_, err = run()
	require.NoError(t, err)
	require.Empty(t, model.calls)
	again, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestAChunkThatTheModelCannotReadCostsOnlyItself(t *testing.T) {
	for name, fault := range map[string]error{"output": fmt.Errorf("%w: x", llm.ErrOutput), "refusal": &llm.Refusal{Words: "no"}} {
		t.Run(name, func(t *testing.T) {
			names, out := files(t, alien, heat)
			model := films()
			model.fails = map[string]error{"Alien": fault}
			r, err := extract.Run(t.Context(), extract.Options{Files: names, Output: out, Extractor: model})
			require.NoError(t, err)
			require.Len(t, r.Failed, 1)
			require.Equal(t, "a.txt #1", r.Failed[0].Chunk)
			require.ErrorIs(t, r.Failed[0].Err, fault)
			require.Equal(t, 1, r.Facts)
			text, err := os.ReadFile(out)
			require.NoError(t, err)
			require.NotContains(t, string(text), "a.txt")
		})
	}
}

func TestTheSameTextIsAskedOnce(t *testing.T) {
	names, out := files(t, alien, alien)
	model := films()
	r, err := extract.Run(t.Context(), extract.Options{Files: names, Output: out, Extractor: model})
	require.NoError(t, err)
	require.Len(t, model.calls, 1)
	require.Equal(t, 4, r.Mentions, "and stands under both of its chunks")
}

func TestFaultsNameWhatToDo(t *testing.T) {
	names, out := files(t, alien, "", "\xff\xfe")
	require.NoError(t, os.WriteFile("other", []byte("something else\n"), 0o600))
	gone := errors.New("gone")
	for _, c := range []struct {
		name string
		o    extract.Options
		want string
	}{
		{"no text", extract.Options{Files: names[1:2], Output: out}, "there is no text in what was given"},
		{"no UTF-8", extract.Options{Files: names[2:], Output: out}, "c.txt is not text in UTF-8; convert it first (pdftotext, iconv)"},
		{"twice", extract.Options{Files: []string{names[0], names[0]}, Output: out}, "a.txt is given twice"},
		{"tiny chunks", extract.Options{Files: names[:1], Output: out, Tokens: 3}, "write at least 32"},
		{"no file", extract.Options{Files: []string{"no"}, Output: out}, "no such file"},
		{"a journal that is none", extract.Options{Files: names[:1], Output: func() string { require.NoError(t, os.Rename("other", "x.said")); return "x" }()}, "line 1 is none of ours"},
		{"a folder that isn't there", extract.Options{Files: names[:1], Output: filepath.Join("no", "x")}, "no such file"},
		{"a model that has gone", extract.Options{Files: names[:1], Output: "y", Extractor: &reader{fails: map[string]error{"Alien": gone}}}, "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.o.Extractor == nil {
				c.o.Extractor = films()
			}
			_, err := extract.Run(t.Context(), c.o)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheSameTextTwiceIsAskedOnceAndWasNotKnown(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.txt", "b.txt"} {
		require.NoError(t, os.WriteFile(name, []byte(alien), 0o600))
	}
	model := films()
	r, err := extract.Run(t.Context(), extract.Options{Files: []string{"a.txt", "b.txt"}, Output: "out.jsonl", Extractor: model})
	require.NoError(t, err)
	require.Len(t, model.calls, 1)
	require.Zero(t, r.Known, "no earlier run has read it")
	require.Equal(t, 2, r.Facts)
}

func TestStandardInputIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	heads := map[string]bool{}
	for _, text := range []string{alien, heat, alien} {
		_, err := extract.Run(t.Context(), extract.Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Output: "out.jsonl", Extractor: films()})
		require.NoError(t, err)
		out, err := os.ReadFile("out.jsonl")
		require.NoError(t, err)
		found := regexp.MustCompile(`{"head":"(stdin [0-9a-f]{16} #1)","relation":"text"`).FindStringSubmatch(string(out))
		require.NotNil(t, found, "%s", out)
		heads[found[1]] = true
	}
	require.Len(t, heads, 2, "the same text has the same chunks, another has others")
}
