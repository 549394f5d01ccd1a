package session_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func TestASubAgentGoesOnWhereItWas(t *testing.T) {
	store := session.Open(t.TempDir())
	s := create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	of := func(entries ...session.Entry) (mine []session.Entry) {
		for _, e := range entries {
			e.Agent = "a1"
			mine = append(mine, e)
		}
		return mine
	}
	add(t, s, prompt("main"))
	add(t, s, of(prompt("count"), answer("m1", model.TextOf("one")), answer("m1", call("u1", "Bash", `{}`)))...)
	add(t, s, of(session.Entry{Call: &session.Call{Step: session.Dispatched, ID: "c1", UseID: "u1", Tool: "Bash", Effect: tool.Unsafe}})...)
	add(t, s, answer("m2", model.TextOf("main goes on")))
	closeSession(t, s)
	torn, err := os.OpenFile(filepath.Join(s.Dir(), "subagents", "agent-a1.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.WriteString(`{"type":"user","uu`); err != nil {
		t.Fatal(err)
	}
	if err := torn.Close(); err != nil {
		t.Fatal(err)
	}

	const unknown = "[Bash was interrupted: the session ended while it ran, and its outcome is unknown. It may have happened in full, in part or not at all: check before you repeat it.]"
	want := []string{"user: count", "assistant: one | Bash(u1)", "user: u1→" + unknown}
	r := resume(t, store, s.ID(), nil)
	wantHistory(t, r, "user: main", "assistant: main goes on")
	got, err := r.Agent(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, show(t, got.History)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if len(got.Lost) != 1 || got.Lost[0].ID != "c1" {
		t.Errorf("lost %+v", got.Lost)
	}
	add(t, r, of(prompt("go on"))...)
	if err := r.Rest("a1"); err != nil {
		t.Fatal(err)
	}
	add(t, r, of(answer("m3", model.TextOf("two")))...)
	closeSession(t, r)

	again := resume(t, store, s.ID(), nil)
	defer closeSession(t, again)
	got, err = again.Agent(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	want[2] += " | go on"
	if diff := cmp.Diff(append(want, "assistant: two"), show(t, got.History)); diff != "" {
		t.Errorf("history after it went on (-want +got):\n%s", diff)
	}
	if len(got.Lost) != 0 {
		t.Errorf("lost again %+v", got.Lost)
	}
	if _, err := again.Agent(t.Context(), "nobody"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
