package harness_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// TestADryRunCannotDoWhatTheProjectSays: make -n runs unasked because it is confined, and
// what a makefile runs meanwhile changes nothing.
func TestADryRunCannotDoWhatTheProjectSays(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	needtest.Program(t, "make")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("X := $(shell touch PWNED; echo ran the text of the makefile)\nall:\n\t@echo building $(X)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := harness.Open(&harness.Options{Dir: dir, Reexec: shellrun.Supervise()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	shell := w.Shell.List()[0]
	input, err := json.Marshal(map[string]any{"command": "make -n"})
	if err != nil {
		t.Fatal(err)
	}
	call := (&tool.Call{Tool: "Bash", Session: &tool.Session{}}).WithInput(input)
	verdict := w.Engine.Judge(t.Context(), tool.Case{Tool: &shell, Call: call})
	if verdict.Behavior != tool.Allow {
		t.Fatalf("not confined, but asked about: %s", verdict.Reason)
	}
	if verdict.Confinement != tool.ReadOnly {
		t.Fatalf("the confinement is %q", verdict.Confinement)
	}
	call.Confinement = verdict.Confinement
	result, err := shell.Run(t.Context(), call.WithInput(verdict.Input))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(result.Text(), "ran the text of the makefile") {
		t.Errorf("the dry run prints %q", result.Text())
	}
	if _, err := os.Stat(filepath.Join(dir, "PWNED")); err == nil {
		t.Error("a dry run has written into the project")
	}
}
