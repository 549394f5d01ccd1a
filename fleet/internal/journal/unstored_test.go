package journal_test

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A result of a call with effects that has no files before it is found, wherever the call began; a
// result that says that the outcome is unknown is not one, once the files follow it.
func TestUnstored(t *testing.T) {
	_, logs := open(t)
	state := func(call string) session.Entry {
		raw, _ := json.Marshal(map[string]string{"call": call})
		return session.Entry{State: &session.State{Name: session.StateFiles, Value: raw}}
	}
	began := func(use string, effect tool.Effect) session.Entry {
		return session.Entry{Call: &session.Call{Step: session.Dispatched, ID: "id-" + use, UseID: use, Tool: "Bash", Effect: effect}}
	}
	result := func(use string) session.Entry {
		return session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: use}}}}
	}
	for _, c := range []struct {
		name    string
		entries []session.Entry
		want    string
	}{
		{"nothing was called", []session.Entry{state("")}, ""},
		{"each result has its files", []session.Entry{began("a", tool.Unsafe), state("a"), result("a"), began("b", tool.Idempotent), state("b"), result("b")}, ""},
		{"a call that only reads needs none", []session.Entry{began("a", tool.Unsafe), state("a"), result("a"), began("b", tool.Pure), result("b")}, ""},
		{"a call was cut off", []session.Entry{began("a", tool.Unsafe), state("a"), result("a"), began("b", tool.Unsafe)}, ""},
		{"its files are missing", []session.Entry{began("a", tool.Unsafe), state("a"), result("a"), began("b", tool.Unsafe), result("b")}, "b"},
		{"the files of a call that began earlier are missing", []session.Entry{began("b", tool.Unsafe), began("a", tool.Unsafe), state("a"), result("a"), result("b")}, "b"},
		{"there are no files at all", []session.Entry{began("a", tool.Unsafe), result("a")}, "a"},
		{"the outcome is unknown, and the files follow", []session.Entry{began("a", tool.Unsafe), result("a"), state("")}, ""},
	} {
		s, err := session.OpenLogs(logs, t.TempDir()).Create(t.Context(), &session.CreateOptions{Cwd: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.entries {
			if err := s.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		held, err := logs.Hold(t.Context(), s.ID())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := held.Unstored(t.Context(), session.StateFiles); got != c.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
		s.Close()
	}
}
