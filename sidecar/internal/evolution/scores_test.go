package evolution_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
)

func TestTheScoresAreSpreadWithTheLinesThatARunDraws(t *testing.T) {
	c := start(t)
	r := c.runner(t)
	scores := func() (out evolution.Scores) {
		w := httptest.NewRecorder()
		evolution.Runners{r}.ServeScores(w, httptest.NewRequest(http.MethodGet, "/evorag/v1/scores", nil))
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
		return out
	}
	got := scores()
	dry, err := r.Plan(t.Context())
	require.NoError(t, err)
	require.Equal(t, dry.Thresholds, got.Thresholds)
	require.Equal(t, 14, got.Thresholds.Touched)
	require.InDelta(t, (160+155.5+170.5+155+151+60+100+99+6*100)/14, got.Thresholds.Mu, 1e-9)

	require.Equal(t, 5.0, got.Width)
	want := make([]int, 40)
	want[60/5], want[99/5], want[100/5], want[150/5], want[155/5], want[160/5], want[170/5] = 1, 1, 7, 1, 2, 1, 1
	require.Equal(t, want, got.Bins)
	require.Zero(t, got.Hidden)
	require.Zero(t, got.Shortcuts)
	require.Len(t, got.Lowest, 10)
	require.Len(t, got.Highest, 10)
	worst, best := got.Lowest[0], got.Highest[0]
	require.Equal(t, "Brandywine owned_by 21st Century Fox", worst.HeadName+" "+worst.Predicate+" "+worst.ObjectName)
	require.Equal(t, 60.0, worst.Score)
	require.Equal(t, 4, worst.Updates)
	require.Equal(t, "Walter Hill born_in Long Beach", best.HeadName+" "+best.Predicate+" "+best.ObjectName)
	require.Equal(t, 170.5, best.Score)

	for range 2 { // what is low in two runs is hidden
		_, err = r.Run(t.Context(), nil)
		require.NoError(t, err)
	}
	got = scores()
	require.Equal(t, 1, got.Hidden)
	require.True(t, got.Lowest[0].Hidden)
	require.Positive(t, got.Shortcuts)

	w := httptest.NewRecorder()
	evolution.Runners{r}.ServeScores(w, httptest.NewRequest(http.MethodGet, "/evorag/v1/scores?namespace=7", nil))
	require.Equal(t, http.StatusBadRequest, w.Code)
}

func TestWhereNothingWasTouchedThereIsNothingToSpread(t *testing.T) {
	c := start(t)
	for _, u := range c.uids {
		c.delete(t, "<"+u.String()+"> <evorag.touched> * .")
	}
	got, err := c.runner(t).Scores(t.Context())
	require.NoError(t, err)
	require.Equal(t, make([]int, 40), got.Bins)
	require.Empty(t, got.Lowest)
	require.Empty(t, got.Highest)
	require.Equal(t, 100.0, got.Thresholds.Mu)
	require.False(t, got.Thresholds.Enough)
}
