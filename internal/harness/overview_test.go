package harness_test

import (
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// TestALookAtASession sums up a journal whose answers were written block by block, whose
// model answers under another name than it has a price for, and which paid for work beside.
func TestALookAtASession(t *testing.T) {
	store := session.Open(t.TempDir())
	s, err := store.Create(t.Context(), &session.CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	user := func(text string) session.Entry {
		return session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}}
	}
	answer := func(id, text string, output int64) session.Entry {
		return session.Entry{Message: &session.Message{Role: model.Assistant, ID: id, Model: "answers-as", Usage: model.Usage{Output: output}, Content: []model.Block{model.TextOf(text)}}}
	}
	err = s.Append(t.Context(),
		user("first"), answer("m1", "a", 1000), answer("m1", "b", 2_000_000),
		session.Entry{State: &session.State{Name: agent.StateAsked + "answers-as", Value: []byte(`"claude-haiku-4-5"`)}},
		user("<system-reminder>no prompt</system-reminder>"),
		user("second"), answer("m2", "c", 1_000_000),
		session.Entry{State: &session.State{Name: agent.StateBeside, Value: []byte(`{"claude-haiku-4-5":{"output_tokens":3000000}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o, err := harness.Look(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Turns) != 2 || o.Turns[0].Prompt != "first" || o.Turns[1].Prompt != "second" || o.Unpriced {
		t.Fatalf("%+v", o)
	}
	// Two million tokens against one and three beside: 1 to 2, whatever the price is.
	if first := o.Turns[0].Cost; first <= 0 || o.Turns[1].Cost < 1.99*first || o.Turns[1].Cost > 2.01*first || o.Cost < 2.99*first {
		t.Errorf("%+v", o)
	}
	if last := o.Last[len(o.Last)-1].Message.Content[0].Text; last != "c" {
		t.Errorf("it ends with %q", last)
	}
}
