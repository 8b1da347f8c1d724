package feedback

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// holding is a store that holds one retrieval, without a response.
type holding struct{ Store }

func (holding) OwnQuery(context.Context, graph.Call) (graph.Answer, error) {
	return graph.Answer{JSON: []byte(`{"retrievals":[{"uid":"0x1","id":"r","body":"{\"retrieval\":\"r\"}"}]}`)}, nil
}

func newHolding() *memory {
	return newMemory(&Service{Options: Options{Store: holding{}, Queue: 10, Log: slog.New(slog.DiscardHandler)}})
}

// The race detector tells.
func TestAResponseMayComeWhileItsRetrievalIsRead(t *testing.T) {
	m := newHolding()
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		for range 2000 {
			m.answered("r", "x")
		}
	})
	for range 2000 {
		m.forget()
		found, err := m.find(t.Context(), map[string]bool{"r": true})
		require.NoError(t, err)
		require.Contains(t, found, "r")
	}
}

func TestAResponseThatIsNotStoredYetIsNotForgotten(t *testing.T) {
	m := newHolding()
	find := func() string {
		found, err := m.find(t.Context(), map[string]bool{"r": true})
		require.NoError(t, err)
		return found["r"].response
	}
	require.Empty(t, find())
	m.answered("r", "x")
	m.storeSoon("r", "x")
	m.forget()
	require.Equal(t, "x", find())
}
