package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ratelGraph is what Ratel draws of an answer. Its rules are those of its lib/graph.js, written
// anew: nodes breadth first with their keys in order, attributes of the first occurrence, and an
// edge that comes twice ends the drawing.
type ratelGraph struct {
	nodes map[string]map[string]any // attributes by uid
	edges map[string]map[string]any // facets by "from predicate to"
	left  int                       // objects that were not drawn
}

type ratelObject struct {
	node       map[string]any
	from, pred string
}

// drawnByRatel reads the bytes of "data". What makes Ratel's page white fails the test.
func drawnByRatel(t testing.TB, data []byte) ratelGraph {
	t.Helper()
	g := ratelGraph{nodes: map[string]map[string]any{}, edges: map[string]map[string]any{}}
	var blocks map[string][]map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	require.NoError(t, d.Decode(&blocks), "every block is a list of objects")
	var queue []ratelObject
	for _, key := range slices.Sorted(maps.Keys(blocks)) {
		require.NotNil(t, blocks[key], "the block %s is null", key)
		for _, node := range blocks[key] {
			queue = append(queue, ratelObject{node: node, pred: key})
		}
	}
	for len(queue) > 0 {
		o := queue[0]
		queue = queue[1:]
		uid, ok := o.node["uid"].(string)
		require.True(t, ok, "without a uid Ratel can't tell that two objects are one node: %v", o.node)
		attributes, facets := map[string]any{}, map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(o.node)) {
			value := o.node[key]
			list, isList := value.([]any)
			one, isObject := value.(map[string]any)
			pred, facet, isFacet := strings.Cut(key, "|")
			switch {
			case isFacet && pred == o.pred:
				facets[facet] = value
			case isFacet:
				attributes[pred+"["+facet+"]"] = value
			case isList && len(list) > 0 && isJSONObject(list[0]):
				for _, child := range list {
					require.True(t, isJSONObject(child))
					queue = append(queue, ratelObject{child.(map[string]any), uid, key})
				}
			case isObject && one["uid"] != nil:
				queue = append(queue, ratelObject{one, uid, key})
			default:
				attributes[key] = value
			}
		}
		if g.nodes[uid] == nil {
			g.nodes[uid] = attributes
		}
		if o.from == "" {
			continue
		}
		edge := fmt.Sprintf("%s %s %s", o.from, o.pred, uid)
		if g.edges[edge] != nil {
			g.left = len(queue)
			return g
		}
		g.edges[edge] = facets
	}
	return g
}

func isJSONObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}
