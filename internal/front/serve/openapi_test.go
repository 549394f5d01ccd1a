package serve_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/test/golden"
)

// pack writes a compressed file.
func pack(t *testing.T, path string, text []byte) {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(path, out.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The document in docs is made from the types that the server reads and writes, and is what
// it serves. Run with -update after a change of the API, and read the diff as one.
func TestOpenAPI(t *testing.T) {
	s := newSite(t)
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetIndent("", "  ")
	if err := out.Encode(serve.Describe(serve.New(&serve.Options{Token: token}))); err != nil {
		t.Fatal(err)
	}
	raw := text.Bytes()
	golden.Check(t, "../../../docs/openapi.json", text.String())
	if status, served := s.do("GET", "/v1/openapi.json", nil); status != http.StatusOK || string(served) != text.String() {
		if golden.Updating() {
			pack(t, "openapi.json.gz", text.Bytes())
		} else {
			t.Errorf("the server does not serve docs/openapi.json (%d): run this test with -update", status)
		}
	}
	var doc struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, operations := range doc.Paths {
		named := strings.NewReplacer("{id}", "ID", "{question}", "ID", "{index}", "N", "{task}", "TASK", "{uuid}", "UUID").Replace(path)
		for method := range operations {
			if want := "`" + strings.ToUpper(method) + " " + named + "`"; !strings.Contains(string(guide), want) {
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
