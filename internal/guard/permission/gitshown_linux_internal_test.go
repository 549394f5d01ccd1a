package permission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitGetsOnlyVariablesWithValues: a name alone says what must not be in the environment.
func TestGitGetsOnlyVariablesWithValues(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\ncat /proc/$$/environ\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := lister{ctx: t.Context(), dir: dir, env: []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "GIT_GONE", "GIT_KEPT=1"}}.run(nil)
	if got := string(out); err != nil || strings.Contains(got, "GIT_GONE") || !strings.Contains(got, "GIT_KEPT=1") {
		t.Errorf("%q, %v", got, err)
	}
}
