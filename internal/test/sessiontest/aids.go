package sessiontest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// Create begins a session that ends with the test.
func Create(t *testing.T, store *session.Store, opts *session.CreateOptions) *session.Session {
	t.Helper()
	s, err := store.Create(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Resume continues a session until the test ends.
func Resume(t *testing.T, store *session.Store, id string, opts *session.ResumeOptions) *session.Session {
	t.Helper()
	s, err := store.Resume(t.Context(), id, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Add appends entries.
func Add(t *testing.T, s *session.Session, entries ...session.Entry) {
	t.Helper()
	if err := s.Append(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
}

// Close closes a session.
func Close(t *testing.T, s *session.Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Prompt is what a user says.
func Prompt(text string) session.Entry {
	return session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}}
}

// Answer is what a model says.
func Answer(id string, blocks ...model.Block) session.Entry {
	return session.Entry{Message: &session.Message{Role: model.Assistant, ID: id, Model: "m-1", Content: blocks,
		Usage: model.Usage{Input: 10, Output: 5}}}
}

// Use is a call in an answer.
func Use(id, name, input string) model.Block {
	return model.Block{Type: model.ToolUse, ID: id, Name: name, Input: json.RawMessage(input)}
}

// Record records a call's whole life, or up to a step.
func Record(t *testing.T, s *session.Session, useID, name string, effect tool.Effect, until sched.Step, text string) {
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

// Show writes a history as one line per message.
func Show(t *testing.T, h *model.History) []string {
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

// WantHistory checks what a session was restored to.
func WantHistory(t *testing.T, s *session.Session, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, Show(t, s.Restored().History)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
