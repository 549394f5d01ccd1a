package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func TestSessionsThatKeepNothing(t *testing.T) {
	for name, s := range map[string]*session.Session{"nil": nil, "in memory": session.Memory("")} {
		t.Run(name, func(t *testing.T) {
			sessiontest.Add(t, s, sessiontest.Prompt("hello"))
			sessiontest.Record(t, s, "a", "Read", tool.Pure, sched.Finished, "x")
			if s.Path() != "" || s.Restored().History.Len() != 0 || s.Sync() != nil || s.Close() != nil {
				t.Error("it keeps something")
			}
		})
	}
}

func TestLatestAndFind(t *testing.T) {
	store, cwd := session.Open(t.TempDir()), t.TempDir()
	if _, err := store.Latest(cwd); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("latest of nothing: %v", err)
	}
	a := sessiontest.Create(t, store, &session.CreateOptions{Cwd: cwd, ID: "aaaaaaaa-0000-4000-8000-000000000001"})
	sessiontest.Add(t, a, sessiontest.Prompt("a"))
	sessiontest.Close(t, a)
	b := sessiontest.Create(t, store, &session.CreateOptions{Cwd: t.TempDir(), ID: "aaaaaaaa-0000-4000-8000-000000000002"})
	sessiontest.Add(t, b, sessiontest.Prompt("b"))
	sessiontest.Close(t, b)
	if id, err := store.Latest(cwd); id != a.ID() {
		t.Errorf("latest = %s, %v", id, err)
	}
	silent := filepath.Join(filepath.Dir(a.Path()), "aaaaaaaa-0000-4000-8000-000000000003.jsonl") // as an applied preview is
	if err := os.WriteFile(silent, []byte(`{"type":"haft-call","uuid":"x"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(silent, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if id, err := store.Latest(cwd); id != a.ID() {
		t.Errorf("latest beside one in which nobody spoke = %s, %v", id, err)
	}
	if path, err := store.Find(b.ID()); path != b.Path() {
		t.Errorf("find = %s, %v", path, err)
	}
	if err := os.Remove(silent); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Find("aaaaaaaa"); err == nil || !strings.Contains(err.Error(), a.ID()) {
		t.Errorf("an ambiguous id: %v", err)
	}
	for _, id := range []string{"", "bbbb", "../../x", "*"} {
		if _, err := store.Find(id); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("find %q: %v", id, err)
		}
	}
}
