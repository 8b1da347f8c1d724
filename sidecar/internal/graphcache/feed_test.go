package graphcache

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

const (
	setLine  = `{ "key": "0", "value": {"meta":{"commit_ts":5},"type":"mutation","event":{"operation":"set","uid":16,"attr":"knows","value":18,"value_type":"uid"}}}` + "\n"
	starLine = `{ "key": "3", "value": {"meta":{"commit_ts":7},"type":"mutation","event":{"operation":"del","uid":16,"attr":"knows","value":"_STAR_ALL","value_type":"default"}}}` + "\n"
	nameLine = `{ "key": "0", "value": {"meta":{"commit_ts":8},"type":"mutation","event":{"operation":"set","uid":17,"attr":"name","value":"Eva","value_type":"default"}}}` + "\n"
	dropLine = `{ "key": "0", "value": {"meta":{"commit_ts":17},"type":"drop","event":{"operation":"predicate","type":"","pred":"boss"}}}` + "\n"
)

func TestAFileFeedFollowsTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sink.log")
	write := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	f := OpenFeed(dir)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	next := func() []Event {
		events, err := f.Next()
		require.NoError(t, err)
		return events
	}
	require.Empty(t, next(), "there is no file yet")
	require.NoError(t, f.Skip())
	write(setLine + starLine + nameLine + dropLine)
	set := Event{Head: 16, Predicate: "knows", Object: 18}
	require.Equal(t, []Event{set, {Namespace: 3, Head: 16, Predicate: "knows"}, {Head: 17, Predicate: "name"}, {Drop: true}}, next())
	require.Empty(t, next())

	write(setLine[:40])
	require.Empty(t, next(), "half a line")
	write(setLine[40:] + "nonsense\n")
	require.Equal(t, []Event{set}, next())

	write(nameLine + setLine[:20])
	require.NoError(t, f.Skip())
	write(setLine[20:] + setLine)
	require.Equal(t, []Event{set}, next(), "the line that was there in part is passed over")

	write(nameLine)
	require.NoError(t, os.Rename(path, path+".old"))
	write(setLine)
	require.Equal(t, []Event{{Head: 17, Predicate: "name"}, set}, next(), "the old file is read to its end")
	require.NoError(t, os.Remove(path))
	require.Empty(t, next(), "a file that is gone says nothing")
}

func TestEventsMakeDirtyWhatTheyTouch(t *testing.T) {
	g := model{edges: map[graph.Triplet]float64{{Head: 1, Predicate: "knows", Object: 2}: 100}}.build(testHash(t))
	for _, c := range []struct {
		name  string
		event Event
		want  dirty
	}{
		{"an edge", Event{Head: 1, Predicate: "knows", Object: 3}, dirty{triplets: map[graph.Triplet]bool{{Head: 1, Predicate: "knows", Object: 3}: true}}},
		{"an edge of a predicate that holds one node: the old one may be gone", Event{Head: 1, Predicate: "boss", Object: 3}, dirty{rows: map[place]bool{{1, "boss"}: true}}},
		{"all edges of a node", Event{Head: 1, Predicate: "knows"}, dirty{rows: map[place]bool{{1, "knows"}: true}}},
		{"a name", Event{Head: 1, Predicate: "name"}, dirty{names: map[graph.UID]bool{1: true}}},
		{"a label", Event{Head: 1, Predicate: "evorag.relation.label"}, dirty{schema: true}},
		{"an edge of a predicate that is new", Event{Head: 1, Predicate: "hates", Object: 2}, dirty{schema: true}},
		{"a value that plays no part", Event{Head: 1, Predicate: "age"}, dirty{}},
		{"another namespace", Event{Namespace: 3, Head: 1, Predicate: "knows", Object: 3}, dirty{}},
		{"a drop", Event{Drop: true}, dirty{all: true}},
		{"a drop in another namespace", Event{Namespace: 3, Drop: true}, dirty{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDirty()
			New(Options{Names: []string{"name"}}).hear(g, c.event, d, map[string]bool{})
			want := newDirty()
			if c.want.triplets != nil {
				want.triplets = c.want.triplets
			}
			if c.want.rows != nil {
				want.rows = c.want.rows
			}
			if c.want.names != nil {
				want.names = c.want.names
			}
			want.schema, want.all = c.want.schema, c.want.all
			require.Equal(t, want, d)
		})
	}
}
