package serve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/golden"
)

// The document in docs is what the server serves, which is made from its own types. Run
// with -update after a change of the API, and read the diff as one.
func TestOpenAPI(t *testing.T) {
	s := newSite(t)
	status, raw := s.do("GET", "/v1/openapi.json", nil)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, raw)
	}
	golden.Check(t, "../../docs/openapi.json", string(raw))
	var doc struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, operations := range doc.Paths {
		named := strings.NewReplacer("{id}", "ID", "{index}", "N", "{task}", "TASK", "{uuid}", "UUID").Replace(path)
		for method := range operations {
			if want := "`" + strings.ToUpper(method) + " " + named + "`"; path != "/v1/login" && !strings.Contains(string(guide), want) {
				t.Errorf("docs/serve.md does not have %s", want)
			}
		}
	}
	for _, ref := range strings.Split(string(raw), `"#/components/schemas/`)[1:] {
		if name, _, _ := strings.Cut(ref, `"`); doc.Components.Schemas[name] == nil {
			t.Errorf("%s is not defined", name)
		}
	}
}
