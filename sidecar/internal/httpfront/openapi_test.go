package httpfront_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/openapi"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// rooms stand for those whose handlers are not called.
type rooms struct{ httpfront.Feedback }

func (rooms) ServeRuns(http.ResponseWriter, *http.Request)   {}
func (rooms) ServeScores(http.ResponseWriter, *http.Request) {}
func (rooms) ServeRun(string) http.HandlerFunc               { return nil }

func TestEveryRouteOfOursIsInTheOpenAPIDocumentAndNoOther(t *testing.T) {
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(openapi.Document, &document))
	said := map[string]bool{}
	for path := range document.Paths {
		path, _, _ = strings.Cut(path, "{")
		said[path] = true
	}
	f := httpfront.New(httpfront.Options{Alpha: &url.URL{}, Metrics: telemetry.New("test"), Feedback: rooms{}, Evolution: rooms{}})
	served := map[string]bool{}
	for _, path := range f.Paths() {
		if strings.HasPrefix(path, "/evorag/") && !strings.HasPrefix(path, "/evorag/ui") { // pages, not services
			served[path] = true
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(said)))
}
