package migrate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/migrations"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

var three = []migrations.Migration{{Version: 1, Name: "a", Checksum: "aa"}, {Version: 2, Name: "b", Checksum: "bb"}, {Version: 3, Name: "c", Checksum: "cc"}}

func had(versions ...int) []Record {
	var out []Record
	for _, v := range versions {
		out = append(out, Record{Version: v, Name: three[v-1].Name, Checksum: three[v-1].Checksum})
	}
	return out
}

func versions(steps []migrations.Migration) []int {
	var out []int
	for _, s := range steps {
		out = append(out, s.Version)
	}
	return out
}

func TestPending(t *testing.T) {
	for name, c := range map[string]struct {
		applied []Record
		want    []int
	}{
		"a fresh cluster gets all":       {nil, []int{1, 2, 3}},
		"a migrated cluster gets none":   {had(1, 2, 3), nil},
		"what is missing is filled in":   {had(1, 3), []int{2}},
		"an older cluster gets the rest": {had(1), []int{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := pending(three, c.applied)
			require.NoError(t, err)
			require.Equal(t, c.want, versions(steps))
		})
	}
}

func TestUndoing(t *testing.T) {
	for name, c := range map[string]struct {
		applied []Record
		version int
		want    []int
	}{
		"to nothing, the newest first":      {had(1, 2, 3), 0, []int{3, 2, 1}},
		"to a version, which stays":         {had(1, 2, 3), 2, []int{3}},
		"what the cluster never had is not": {had(1), 0, []int{1}},
		"to where it is":                    {had(1, 2), 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := undoing(three, c.applied, c.version)
			require.NoError(t, err)
			require.Equal(t, c.want, versions(steps))
		})
	}
	_, err := undoing(three, had(1), 4)
	require.ErrorContains(t, err, "write one from 0")
	_, err = undoing(three, had(1), -1)
	require.ErrorContains(t, err, "write one from 0")
}

func TestAForeignHistoryIsRefused(t *testing.T) {
	_, err := pending(three, []Record{{Version: 2, Name: "b", Checksum: "other"}})
	require.ErrorIs(t, err, ErrChecksum)
	require.ErrorContains(t, err, "migration 2 (b)")
	_, err = undoing(three, []Record{{Version: 4, Name: "d"}}, 0)
	require.ErrorIs(t, err, ErrNewer)
}

func TestReverseLines(t *testing.T) {
	schema := graph.Schema{Predicates: map[string]graph.PredicateSchema{
		"follows": {Name: "follows", Type: "uid", List: true, Count: true},
		"boss":    {Name: "boss", Type: "uid"},
		"knows":   {Name: "knows", Type: "uid", List: true, Reverse: true},
		"name":    {Name: "name", Type: "string"},
	}}
	lines, changed, err := reverseLines(schema, []string{"follows", "knows", "boss", "follows"})
	require.NoError(t, err)
	require.Equal(t, []string{"<follows>: [uid] @reverse @count .", "<boss>: uid @reverse ."}, lines)
	require.Equal(t, []string{"follows", "boss"}, changed)
	for predicate, want := range map[string]string{"name": "@reverse is for edges", "nobody": "boss, follows, knows", "evorag.shortcut": "not the user's", "dgraph.type": "not the user's"} {
		_, _, err := reverseLines(schema, []string{"follows", predicate})
		require.ErrorContains(t, err, want)
	}
}
