package eval

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAChunkGraphMentionsWhatItsTextsSpeakOf(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put("triples.tsv", "a\tb\tc\n")
	put("questions.jsonl", `{"id": "1", "question": "q?", "topic_entities": ["alice"], "answers": ["x"], "gold_passages": [1], "gold_path": [["alice", "knows", "bob"]]}`+"\n"+
		`{"id": "2", "question": "no text", "topic_entities": ["alice"], "answers": ["x"]}`)
	s, err := ReadSet(dir)
	require.NoError(t, err)
	require.False(t, s.hasChunks())
	put("triples_prov.tsv", "alice\tknows\tbob\t0\nalice\tsaw\tbob\t0\nbob\tlives in\trome\t1\n")
	f, err := os.Create(filepath.Join(dir, "passages.jsonl.gz"))
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(`{"n": 0, "title": "Alice", "text": "Alice knows\tBob."}` + "\n" + `{"n": 1, "title": "Bob", "text": "` + strings.Repeat("Bob in Rome. ", 50) + `"}` + "\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	require.True(t, s.hasChunks())

	chunks, triples, err := s.chunks()
	require.NoError(t, err)
	require.Equal(t, Triple{"Alice: Alice knows Bob.", "mentions", "alice"}, triples[0])
	require.Len(t, triples, 4, "an entity is mentioned once by a text")
	require.Len(t, chunks.Questions, 1, "a question without texts can't be asked for them")
	require.Equal(t, []string{triples[2][0]}, chunks.Questions[0].Answers)
	require.LessOrEqual(t, len(triples[2][0]), chunkName)
	require.Nil(t, chunks.Questions[0].Path)

	put("triples_prov.tsv", "bob\tlives in\trome\t9\n")
	_, _, err = s.chunks()
	require.ErrorContains(t, err, "triples_prov.tsv:1")
}
