package grpcfront

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestOnlyCallersInGoGetTheRetrievalAsHeader(t *testing.T) {
	r := &graph.Retrieval{ID: "r1", Question: "où? 🎬"}
	body, err := json.Marshal(r)
	require.NoError(t, err)
	for agent, want := range map[string]bool{"grpc-go/1.85.0": true, "mine grpc-go/1.2": true, "grpc-java-netty/1.60": false, "": false} {
		md, err := header(metadata.Pairs("user-agent", agent), r, string(body))
		require.NoError(t, err)
		require.Equal(t, want, len(md) == 1, agent)
		if want {
			require.JSONEq(t, string(body), md.Get(headerKey)[0])
		}
	}
	md, err := header(nil, r, string(body))
	require.NoError(t, err)
	require.Empty(t, md)
}

func TestAHeaderThatIsTooLargeLosesItsPathsAndSaysSo(t *testing.T) {
	r := &graph.Retrieval{ID: "r1", Alpha: 0.5, Context: strings.Repeat("x", headerBytes), Results: make([]graph.Result, 7)}
	body, err := json.Marshal(r)
	require.NoError(t, err)
	md, err := header(metadata.Pairs("user-agent", "grpc-go/1"), r, string(body))
	require.NoError(t, err)
	var got graph.Retrieval
	require.NoError(t, json.Unmarshal([]byte(md.Get(headerKey)[0]), &got))
	require.Equal(t, "r1", got.ID)
	require.Empty(t, got.Results)
	require.Contains(t, got.Reason, "7 results are left out of this header")
	require.Len(t, r.Results, 7, "the answer itself keeps them")
}

func TestEscapedJSONIsPrintableAndMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		body, err := json.Marshal(text)
		require.NoError(t, err)
		var want, got string
		require.NoError(t, json.Unmarshal(body, &want))
		escaped := ascii(string(body))
		for _, b := range []byte(escaped) {
			require.True(t, b >= 0x20 && b < 0x7f)
		}
		require.NoError(t, json.Unmarshal([]byte(escaped), &got))
		require.Equal(t, want, got)
	})
}
