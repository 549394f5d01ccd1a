package serve

import (
	_ "embed"
	"net/http"
)

// described is docs/openapi.json, compressed. A test makes both from the table of operations
// and the Go types that they read and write.
//
//go:embed openapi.json.gz
var described []byte

// openAPI serves the description of the API.
func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	text, err := unpack(described)
	if err != nil {
		refuse(w, problem(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // who asked may be gone
}
