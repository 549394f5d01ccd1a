package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

func TestOneShot(t *testing.T) {
	use := func(tool, input string) script.Turn {
		return script.Turn{Blocks: []script.Block{{Tool: tool, Input: json.RawMessage(input)}}}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "report.txt")
	report, err := json.Marshal(map[string]string{"file_path": file, "content": "120 ms\n"})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
		use("mcp__services__latency", `{"service":"shop"}`),
		use("Write", string(report)),
		use("Bash", `{"command":"touch made","description":"Make a file"}`),
		{Blocks: []script.Block{{Text: "The shop is slower."}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	t.Setenv("ANTHROPIC_BASE_URL", srv.URL())
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
	t.Setenv("HOME", t.TempDir())
	var out strings.Builder
	if err := run(t.Context(), &out, "Which is slower?", haft.Options{Transport: embed.New(nil), Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "120 ms\n" {
		t.Errorf("the file that was allowed: %q, %v", text, err)
	}
	want := `calls mcp__services__latency
is told "120 ms"
calls Write
is told "File created: ` + file + `"
calls Bash
is told "this program only allows writing files"
The shop is slower.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
