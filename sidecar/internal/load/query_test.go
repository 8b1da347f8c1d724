package load

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
)

// The loader writes its queries itself, since their length follows the batch. The examples
// in queries/ are what it writes, so that they are parsed and can be run like the others.
func TestTheExamplesAreWhatTheLoaderWrites(t *testing.T) {
	keys := []string{graph.Quote("Eva Green"), graph.Quote(`Casino "Royale"`)}
	for name, text := range map[string]string{
		"load_nodes": nodesQuery("name", keys, "Entity", "name"),
		"load_edges": edgesQuery([]string{"directed_by", "starring"}, map[string]ends{
			"directed_by": {heads: []graph.UID{2, 1, 1}, objects: []graph.UID{3, 4, 3}}, "starring": {heads: []graph.UID{1}, objects: []graph.UID{5}},
		}),
		"load_values": valuesQuery([]string{"minutes"}, map[string][]graph.UID{"minutes": {1, 2}}),
	} {
		require.True(t, strings.HasSuffix(queries.Text(name), text), "%s.dql should end in\n%s", name, text)
	}
}
