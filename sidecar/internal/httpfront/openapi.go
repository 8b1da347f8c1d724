package httpfront

import (
	"net/http"

	"github.com/evorag/dgraph-evorag/sidecar/internal/openapi"
)

// openAPI is GET /evorag/openapi.json.
func openAPI(w http.ResponseWriter, r *http.Request) {
	writeBytes(w, r, http.StatusOK, openapi.Document)
}
