package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

func TestPolicy(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "docs"), 0o755), os.Symlink("../main.go", filepath.Join(dir, "docs", "link.md"))); err != nil {
		t.Fatal(err)
	}
	use := func(tool string, input map[string]string) script.Turn {
		raw, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return script.Turn{Blocks: []script.Block{{Tool: tool, Input: raw}}}
	}
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
		use("Read", map[string]string{"file_path": filepath.Join(dir, "main.go")}),
		use("Write", map[string]string{"file_path": filepath.Join(dir, "docs", "main.md"), "content": "A program.\n"}),
		use("Edit", map[string]string{"file_path": filepath.Join(dir, "main.go"), "old_string": "main", "new_string": "mine"}),
		use("Write", map[string]string{"file_path": "docs/../main.go", "content": ""}),
		use("Write", map[string]string{"file_path": "docs/link.md", "content": ""}),
		use("Deploy", map[string]string{"to": "production"}),
		use("Deploy", map[string]string{"to": "staging"}),
		use("Bash", map[string]string{"command": "touch made"}),
		{Blocks: []script.Block{{Text: "Described and deployed."}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var out strings.Builder
	if err := run(t.Context(), &out, dir, "Describe it, then deploy.", anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "sk-ant-scripted"})); err != nil {
		t.Fatal(err)
	}
	want := `succeeded: 1	package main
succeeded: File created: ` + filepath.Join(dir, "docs", "main.md") + `
denied: only files in docs may be changed
denied: only files in docs may be changed
denied: only files in docs may be changed
denied: only people deploy to production
succeeded: deployed to staging
unknown: <tool_use_error>No such tool available: "Bash". Available: Deploy, Edit, Read, Write.</tool_use_error>
Described and deployed.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "main.go")); err != nil || string(text) != "package main\n" {
		t.Errorf("the file outside docs: %q, %v", text, err)
	}
}

// What a program does not name is not in it: neither the other tools nor the rest of haft.
func TestSize(t *testing.T) {
	const limit = 16 << 20
	exe := filepath.Join(t.TempDir(), "policy")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > limit {
		t.Errorf("%d bytes are linked, want at most %d", info.Size(), limit)
	}
	t.Logf("%.1f MB", float64(info.Size())/1e6)
}
