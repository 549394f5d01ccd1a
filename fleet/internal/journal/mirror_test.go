package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/session"
)

// An id that leads out of the mirror removes and names nothing.
func TestAMirrorStaysInItsFolder(t *testing.T) {
	_, logs := open(t)
	dir := t.TempDir()
	mirror := logs.Mirror(filepath.Join(dir, "a", "b"))
	other := filepath.Join(dir, "precious", "file")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../../../precious", "../../..", "..", ".", ""} {
		if err := mirror.Refresh(t.Context(), id); err == nil {
			t.Errorf("%q was copied", id)
		}
		if err := mirror.Forget(id); err == nil {
			t.Errorf("%q was removed", id)
		}
		if path := mirror.Path(id); path != "" {
			t.Errorf("%q is at %s", id, path)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// What an append that failed has left is not in the way of the next.
func TestAnAppendIsRepeated(t *testing.T) {
	_, logs := open(t)
	mirror := logs.Mirror(t.TempDir())
	s := sessiontest.Create(t, session.OpenLogs(logs, t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	path := mirror.Path(s.ID())
	for range 3 {
		sessiontest.Add(t, s, sessiontest.Prompt("more"))
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := mirror.Refresh(t.Context(), s.ID()); err != nil {
			t.Fatal(err)
		}
		want, err := logs.Text(t.Context(), s.ID(), "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != string(want) {
			t.Fatalf("the copy is %q instead of %q, %v", got, want, err)
		}
		if err := os.WriteFile(path, append(got, `{"half of`...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sessiontest.Close(t, s)
}
