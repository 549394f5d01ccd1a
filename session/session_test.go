package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func create(t *testing.T, store *session.Store, opts *session.CreateOptions) *session.Session {
	t.Helper()
	s, err := store.Create(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func resume(t *testing.T, store *session.Store, id string, opts *session.ResumeOptions) *session.Session {
	t.Helper()
	s, err := store.Resume(t.Context(), id, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t *testing.T, s *session.Session, entries ...session.Entry) {
	t.Helper()
	if err := s.Append(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
}

func closeSession(t *testing.T, s *session.Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func prompt(text string) session.Entry {
	return session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}}
}

func answer(id string, blocks ...model.Block) session.Entry {
	return session.Entry{Message: &session.Message{Role: model.Assistant, ID: id, Model: "m-1", Content: blocks,
		Usage: model.Usage{Input: 10, Output: 5}}}
}

func call(id, name, input string) model.Block {
	return model.Block{Type: model.ToolUse, ID: id, Name: name, Input: json.RawMessage(input)}
}

// run records a call's whole life, or up to a step.
func run(t *testing.T, s *session.Session, useID, name string, effect tool.Effect, until sched.Step, text string) {
	t.Helper()
	c := &tool.Call{ID: "call-" + useID, UseID: useID, Tool: name, Input: json.RawMessage(`{}`)}
	for step := sched.Judged; step <= until; step++ {
		rec := sched.Record{Step: step, Call: c, Marks: tool.Marks{Effect: effect}, Verdict: tool.Verdict{Behavior: tool.Allow}}
		if step == sched.Finished {
			rec.Outcome = &sched.Outcome{CallID: c.ID, UseID: useID, Tool: name, Result: tool.Text(text)}
		}
		if err := s.Record(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
}

// show writes a history as one line per message.
func show(t *testing.T, h *model.History) []string {
	t.Helper()
	var out []string
	for i := range h.Len() {
		m, err := h.Message(i)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, b := range m.Content {
			switch b.Type {
			case model.ToolUse:
				parts = append(parts, fmt.Sprintf("%s(%s)", b.Name, b.ID))
			case model.ToolResult:
				parts = append(parts, fmt.Sprintf("%s→%s", b.UseID, tool.JoinText(b.Content)))
			default:
				parts = append(parts, b.Text)
			}
		}
		out = append(out, string(m.Role)+": "+strings.Join(parts, " | "))
	}
	return out
}

func wantHistory(t *testing.T, s *session.Session, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, show(t, s.Restored().History)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestASessionIsResumedAsItWas(t *testing.T) {
	store := session.Open(t.TempDir())
	s := create(t, store, &session.CreateOptions{Cwd: t.TempDir(), Version: "1", GitBranch: "main"})
	add(t, s, prompt("hello"))
	add(t, s, answer("m1", model.TextOf("I look.")), answer("m1", call("a", "Read", `{}`)))
	run(t, s, "a", "Read", tool.Pure, sched.Finished, "text a")
	add(t, s, answer("m1", call("b", "Bash", `{}`)))
	run(t, s, "b", "Bash", tool.Unsafe, sched.Finished, "text b")
	add(t, s, answer("m2", model.TextOf("Done.")))
	add(t, s, session.Entry{State: &session.State{Name: "mode", Value: json.RawMessage(`"plan"`)}})
	closeSession(t, s)

	r := resume(t, store, s.ID(), nil)
	wantHistory(t, r, "user: hello", "assistant: I look. | Read(a) | Bash(b)", "user: a→text a | b→text b", "assistant: Done.")
	got := r.Restored()
	if string(got.States["mode"]) != `"plan"` || got.Model != "m-1" || got.Messages != 7 || len(got.Lost) != 0 {
		t.Errorf("restored %+v", got)
	}
	if diff := cmp.Diff(map[string]model.Usage{"m-1": {Input: 20, Output: 10}}, got.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	add(t, r, prompt("more"))
	closeSession(t, r)
	wantHistory(t, resume(t, store, s.ID()[:8], nil), "user: hello", "assistant: I look. | Read(a) | Bash(b)", "user: a→text a | b→text b", "assistant: Done.", "user: more")
}

func TestLostCallsAreToldApart(t *testing.T) {
	store := session.Open(t.TempDir())
	s := create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	add(t, s, prompt("go"), answer("m1", call("a", "Read", `{}`)), answer("m1", call("b", "Bash", `{}`)),
		answer("m1", call("c", "Bash", `{}`)), answer("m1", call("d", "Read", `{}`)))
	run(t, s, "d", "Read", tool.Pure, sched.Finished, "text d")
	run(t, s, "a", "Read", tool.Pure, sched.Dispatched, "")
	run(t, s, "b", "Bash", tool.Unsafe, sched.Dispatched, "")
	run(t, s, "c", "Bash", tool.Unsafe, sched.Judged, "")
	closeSession(t, s)

	want := []string{"user: go", "assistant: Read(a) | Bash(b) | Bash(c) | Read(d)",
		"user: a→[Read was interrupted: the session ended while it ran. It changes nothing; call it again if the answer is still needed.]" +
			" | b→[Bash was interrupted: the session ended while it ran, and its outcome is unknown. It may have happened in full, in part or not at all: check before you repeat it.]" +
			" | c→[Bash never ran: the session ended before it started. Nothing was changed; call it again if it is still needed.]" +
			" | d→text d"}
	r := resume(t, store, s.ID(), nil)
	wantHistory(t, r, want...)
	var lost []string
	for _, c := range r.Restored().Lost {
		lost = append(lost, c.UseID+" "+string(c.Step))
	}
	if diff := cmp.Diff([]string{"a dispatched", "b dispatched", "c judged"}, lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	add(t, r, prompt("go on"))
	closeSession(t, r)
	again := resume(t, store, s.ID(), nil)
	want[2] += " | go on"
	wantHistory(t, again, want...)
	if len(again.Restored().Lost) != 0 {
		t.Errorf("lost again: %+v", again.Restored().Lost)
	}
}

func TestASecondWriterIsRefused(t *testing.T) {
	store := session.Open(t.TempDir())
	s := create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	add(t, s, prompt("hello"))
	_, err := store.Resume(t.Context(), s.ID(), nil)
	var inUse *session.InUseError
	if !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Fatalf("second writer: %v", err)
	}
	fork := resume(t, store, s.ID(), &session.ResumeOptions{Fork: true})
	wantHistory(t, fork, "user: hello")
	closeSession(t, s)
	resume(t, store, s.ID(), nil)
}

func TestAnIDIsGivenOnce(t *testing.T) {
	store, cwd := session.Open(t.TempDir()), t.TempDir()
	s := create(t, store, &session.CreateOptions{Cwd: cwd})
	add(t, s, prompt("hello"))
	if _, err := store.Create(t.Context(), &session.CreateOptions{Cwd: cwd, ID: s.ID()}); err == nil {
		t.Error("the same id was given twice")
	}
	if _, err := store.Create(t.Context(), &session.CreateOptions{ID: "../x"}); err == nil {
		t.Error("an id that is a path was taken")
	}
}

func TestSessionsThatKeepNothing(t *testing.T) {
	for name, s := range map[string]*session.Session{"nil": nil, "in memory": session.Memory("")} {
		t.Run(name, func(t *testing.T) {
			add(t, s, prompt("hello"))
			run(t, s, "a", "Read", tool.Pure, sched.Finished, "x")
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
	a := create(t, store, &session.CreateOptions{Cwd: cwd, ID: "aaaaaaaa-0000-4000-8000-000000000001"})
	add(t, a, prompt("a"))
	closeSession(t, a)
	b := create(t, store, &session.CreateOptions{Cwd: t.TempDir(), ID: "aaaaaaaa-0000-4000-8000-000000000002"})
	add(t, b, prompt("b"))
	closeSession(t, b)
	if id, err := store.Latest(cwd); id != a.ID() {
		t.Errorf("latest = %s, %v", id, err)
	}
	if path, err := store.Find(b.ID()); path != b.Path() {
		t.Errorf("find = %s, %v", path, err)
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

func TestLongPayloadsAreKeptAsBlobs(t *testing.T) {
	store, cwd := session.Open(t.TempDir()), t.TempDir()
	s := create(t, store, &session.CreateOptions{Cwd: cwd})
	long := strings.Repeat("a \"quoted\" line\\ with ü and \x01\n", 10_000)
	input, _ := json.Marshal(map[string]string{"z": "first", "a": long})
	add(t, s, prompt("go"), answer("m1", call("a", "Write", string(input))))
	run(t, s, "a", "Write", tool.Idempotent, sched.Finished, long)
	closeSession(t, s)
	raw, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 10_000 {
		t.Errorf("the journal has %d bytes", len(raw))
	}
	check := func(s *session.Session) {
		t.Helper()
		use, err := s.Restored().History.Message(1)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(use.Content[0].Input); got != string(input) {
			t.Errorf("the input came back as %.100s… (%d bytes)", got, len(got))
		}
		res, err := s.Restored().History.Message(2)
		if err != nil {
			t.Fatal(err)
		}
		if got := tool.JoinText(res.Content[0].Content); got != long {
			t.Errorf("the result came back as %.100s… (%d bytes)", got, len(got))
		}
	}
	check(resume(t, store, s.ID(), &session.ResumeOptions{Fork: true}))
	check(resume(t, store, s.ID(), &session.ResumeOptions{Fork: true, Cwd: t.TempDir()}))
	if err := os.RemoveAll(filepath.Join(filepath.Dir(s.Path()), "haft-blobs")); err != nil {
		t.Fatal(err)
	}
	r := resume(t, store, s.ID(), nil)
	res, _ := r.Restored().History.Message(2)
	if got := tool.JoinText(res.Content[0].Content); !strings.Contains(got, "are kept as blob sha256:") {
		t.Errorf("without the blob: %.100s", got)
	}
}
