package session_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/sessiontest"
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

// TestAnExportForPeopleHasDiffsAndNoReminders looks at what people read: what a file's change
// was, and nothing that haft told the model on the side.
func TestAnExportForPeopleHasDiffsAndNoReminders(t *testing.T) {
	store := session.Open(t.TempDir())
	s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	prompt := sessiontest.Prompt("rename it")
	prompt.Message.Content = append(prompt.Message.Content, model.TextOf("<system-reminder>be brief</system-reminder>"))
	added := sessiontest.Prompt("a summary by haft")
	added.Message.Synthetic = true
	sessiontest.Add(t, s, prompt, added, sessiontest.Answer("m1", sessiontest.Use("a", "Edit", `{"old_string":"a && b"}`)))
	changed := session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: "a", Content: tool.Text("updated").Content}},
		Output: json.RawMessage(`{"filePath":"/p/x.go","structuredPatch":[{"oldStart":3,"oldLines":1,"newStart":3,"newLines":1,"lines":["-a && b","+c"]}]}`)}}
	sessiontest.Add(t, s, changed)
	sessiontest.Close(t, s)
	var b strings.Builder
	if err := store.Export(t.Context(), s.ID(), &b, session.Markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"```diff\n--- /p/x.go\n+++ /p/x.go\n@@ -3,1 +3,1 @@\n-a && b\n+c\n```\n", `"old_string": "a && b"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
	for _, no := range []string{"be brief", "a summary by haft", `\u0026`} {
		if strings.Contains(b.String(), no) {
			t.Errorf("%q is there:\n%s", no, b.String())
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
