package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/sessiontest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func TestAListTellsWhatSessionsAreAbout(t *testing.T) {
	store, cwd := session.Open(t.TempDir()), t.TempDir()
	s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: cwd})
	sessiontest.Add(t, s, session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(" \n"), model.TextOf("\nfix the build\nplease")}}})
	sessiontest.Close(t, s)
	// What is no session is not listed: a file of another name, and one that a start left empty.
	folder := filepath.Dir(s.Path())
	for name, text := range map[string]string{"notes.jsonl": "{}\n", "aaaaaaaa-0000-4000-8000-000000000009.jsonl": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := store.List(&session.ListOptions{Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].ID != s.ID() || list[0].Cwd != cwd || list[0].Prompt != "fix the build" || list[0].Created.IsZero() {
		t.Errorf("%+v", list)
	}
}

func TestAnExportHasAllThatWasSaid(t *testing.T) {
	store := session.Open(t.TempDir())
	s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	sessiontest.Add(t, s, sessiontest.Prompt("look"), sessiontest.Answer("m1", model.TextOf("I look."), sessiontest.Use("a", "Read", `{"file_path":"/x"}`)))
	sessiontest.Record(t, s, "a", "Read", tool.Pure, sched.Finished, "what is in x")
	sessiontest.Close(t, s)
	for format, wants := range map[session.Format][]string{
		session.Markdown: {"## user\n\nlook\n", "## assistant\n\nI look.\n", "### Read\n", "/x", "what is in x"},
		session.HTML:     {"<!doctype html>", "<h2>user</h2>\n<pre>look</pre>", "<pre>I look.</pre>", "<summary>Read</summary>", "/x", "what is in x"},
		session.JSONL:    {`"role":"user"`, `"role":"assistant"`, `"I look."`, "what is in x"},
	} {
		var b strings.Builder
		if err := store.Export(t.Context(), s.ID(), &b, format); err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, want := range wants {
			i := strings.Index(b.String()[at:], want)
			if i < 0 {
				t.Fatalf("%s: %q is missing after %d bytes:\n%s", format, want, at, b.String())
			}
			at += i
		}
		full := errors.New("the disk is full")
		if err := store.Export(t.Context(), s.ID(), failingWriter{full}, format); !errors.Is(err, full) {
			t.Errorf("%s, to a full disk: %v", format, err)
		}
	}
	if err := store.Export(t.Context(), s.ID(), &strings.Builder{}, "pdf"); err == nil {
		t.Error("an unknown format is exported")
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
