package eval

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ratings with thousands of reference answers must not make a delivery that the webhook refuses.
func TestRatingsAreSentInOrderInDeliveriesThatAreTaken(t *testing.T) {
	for _, long := range []int{0, 100_000, 900_000} {
		var got []string
		deliveries := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			deliveries++
			var ratings []rating
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&ratings); err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			for _, r := range ratings {
				got = append(got, r.ID)
			}
			w.WriteHeader(http.StatusAccepted)
		}))
		defer s.Close()
		var ratings []rating
		var want []string
		for i := range 45 {
			ratings = append(ratings, rating{ID: strconv.Itoa(i), Response: "x", Answer: []string{strings.Repeat("y", long)}})
			want = append(want, strconv.Itoa(i))
		}
		require.NoError(t, newClient(s.URL).rate(t.Context(), ratings...), long)
		require.Equal(t, want, got)
		require.Equal(t, map[int]int{0: 3, 100_000: 9, 900_000: 45}[long], deliveries)
	}
}
