package feedback

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func uids(events []stored) (out []string) {
	for _, e := range events {
		out = append(out, e.uid)
	}
	return out
}

func TestArrivalsAreTakenInTheirOrderAndKnownUntilTheyAreDone(t *testing.T) {
	a := newArrivals()
	require.Empty(t, a.take(20))
	var all []stored
	for i := range 5 {
		all = append(all, stored{uid: fmt.Sprint(i)})
	}
	a.add(all[:3])
	a.add(all[3:])
	require.Len(t, a.news, 1)
	first := a.take(2)
	require.Equal(t, []string{"0", "1"}, uids(first))
	require.True(t, a.has("0"), "it is on its way into a batch")
	require.Equal(t, []string{"2", "3", "4"}, uids(a.take(20)))
	require.False(t, a.lookNow())

	began := time.Now().Add(-time.Second)
	require.Equal(t, began, a.since(began), "no batch was carried out yet")
	a.done(first)
	require.False(t, a.has("0"))
	require.True(t, a.has("4"))
	require.True(t, a.since(began).After(began))
	a.done(all)
	require.Zero(t, a.bytes)
	require.Empty(t, a.mine)
}

func TestArrivalsThatDoNotFitAreLookedForInTheCluster(t *testing.T) {
	a := newArrivals()
	big := Event{Response: strings.Repeat("x", maxBody), Gold: []string{"y"}}
	n := 0
	for !a.behind {
		a.add([]stored{{uid: fmt.Sprint(n), Event: big}})
		n++
	}
	require.LessOrEqual(t, a.bytes, arrivalBytes)
	require.Greater(t, a.bytes, arrivalBytes-2*maxBody)
	require.False(t, a.has(fmt.Sprint(n-1)))
	require.True(t, a.lookNow())
	require.False(t, a.lookNow(), "once")
	taken := a.take(n)
	require.Len(t, taken, n-1)
	a.done(taken)
	a.add([]stored{{uid: "later", Event: big}})
	require.True(t, a.has("later"), "there is room again")
	a.lookSoon()
	require.True(t, a.lookNow())
}
