package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// TestWhatIsTakenBackGoesNowhereElse: nobody can make the folder for it before.
func TestWhatIsTakenBackGoesNowhereElse(t *testing.T) {
	tmp, dir, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, name := range []string{"haft-taken", "haft-taken-"} {
		if err := os.Symlink(elsewhere, filepath.Join(tmp, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, ".mcp.json")
	shot := (&sandbox.Spec{Protect: []string{path}}).Snapshot()
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := shot.TakeBack()
	if err != nil || len(taken) != 1 || taken[0].Path != path {
		t.Fatalf("%+v, %v", taken, err)
	}
	real, err := filepath.EvalSymlinks(taken[0].Kept)
	if err != nil || strings.HasPrefix(real, elsewhere) {
		t.Errorf("it was moved to %s, %v", real, err)
	}
}
