package sysprompt

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What was looked up ahead is for the first request and for the folder that it was looked up in: whatever comes later
// sees what is there then.
func TestARepositoryIsLookedUpAheadOnce(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := lookAhead(dir, time.Minute)
	defer a.Stop()
	a.began = a.began.Add(time.Hour) // however long git takes here
	if state, ok := a.take(t.Context(), filepath.Dir(dir)); ok {
		t.Errorf("for another folder: %q", state)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if state, ok := a.take(t.Context(), dir); !ok || !strings.Contains(state, "?? new.txt") {
		t.Errorf("got %q, %v", state, ok)
	}
	if state, ok := a.take(t.Context(), dir); ok {
		t.Errorf("the second time: %q", state)
	}
	if state, ok := (&Ahead{dir: dir, began: time.Now()}).take(ended, dir); !ok || state != "" {
		t.Errorf("when the turn is stopped: %q, %v", state, ok)
	}
	if state, ok := (&Ahead{dir: dir, began: time.Now().Add(-2 * aheadAge)}).take(t.Context(), dir); ok {
		t.Errorf("from long ago: %q", state)
	}
	if state, ok := (*Ahead)(nil).take(t.Context(), dir); ok {
		t.Errorf("of nothing: %q", state)
	}
}
