package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// converse appends turns of one prompt and one answer each. An answer is written in two
// lines, of which the last says what it took.
func converse(t *testing.T, s *session.Session, texts ...string) {
	t.Helper()
	for _, text := range texts {
		said := []model.Block{model.TextOf("answer to " + text)}
		id, used := "msg_"+text, model.Usage{Input: 100, Output: 10}
		for _, e := range []session.Entry{
			{UUID: uuidOf("p" + text), Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}},
			{UUID: uuidOf("a" + text), Message: &session.Message{Role: model.Assistant, Content: said, ID: id, Model: "m"}},
			{Message: &session.Message{Role: model.Assistant, ID: id, Model: "m", StopReason: "end_turn", Usage: used}},
		} {
			if err := s.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func uuidOf(name string) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", name) }

// lastSaid are the texts of a conversation.
func lastSaid(s *session.Session) (texts []string) {
	for i := range s.Restored().History.Len() {
		m, err := s.Restored().History.Message(i)
		if err != nil {
			return []string{err.Error()}
		}
		for _, b := range m.Content {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// TestGoingBackKeepsCostAndPlace goes back twice and says nothing in between: what was left
// behind has cost what it has cost, and the next resume continues at the earlier message.
func TestGoingBackKeepsCostAndPlace(t *testing.T) {
	store := session.Open(t.TempDir())
	again := func(at string) *session.Session {
		t.Helper()
		s, err := store.Resume(t.Context(), uuidOf("s"), &session.ResumeOptions{At: at})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	has := func(s *session.Session, answers int64, texts ...string) {
		t.Helper()
		want := map[string]model.Usage{"m": {Input: 100 * answers, Output: 10 * answers}}
		if d := cmp.Diff(want, s.Restored().Usage); d != "" {
			t.Errorf("usage (-want +got):\n%s", d)
		}
		if d := cmp.Diff(texts, lastSaid(s)); d != "" {
			t.Errorf("said (-want +got):\n%s", d)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Create(t.Context(), &session.CreateOptions{ID: uuidOf("s"), Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	converse(t, s, "1")
	spend(t, s, 5)
	converse(t, s, "2", "3")
	spend(t, s, 7)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first := []string{"1", "answer to 1"}

	s = again(uuidOf("a1")) // its usage is in a line after it
	if err := s.KeepPlace(t.Context()); err != nil {
		t.Fatal(err)
	}
	has(s, 3, first...)
	s = again("")
	if got := string(s.Restored().States[session.StateSpent]); got != "7" {
		t.Errorf("beside the answers %s were used, want 7", got)
	}
	has(s, 3, first...)

	s = again("")
	converse(t, s, "4")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	has(again(""), 4, "1", "answer to 1", "4", "answer to 4")
	s = again(uuidOf("a4")) // the end: there is nothing to keep
	if err := s.KeepPlace(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	if got, _ := followAll(t, path, ""); !slices.Contains(got, "back 1") {
		t.Errorf("followers hear %q", got)
	}
	has(s, 4, "1", "answer to 1", "4", "answer to 4")
	backs := 0
	for e, err := range session.Entries(context.Background(), path) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Back != nil {
			backs++
			if e.Parent != uuidOf("a1") || e.Back.Prompt != "1" {
				t.Errorf("went back to %s, %q", e.Parent, e.Back.Prompt)
			}
		}
	}
	if backs != 1 {
		t.Errorf("went back %d times, want 1", backs)
	}
}

// TestAForkHasItsOwnCost: not that of what it leaves out.
func TestAForkHasItsOwnCost(t *testing.T) {
	store := session.Open(t.TempDir())
	s, err := store.Create(t.Context(), &session.CreateOptions{ID: uuidOf("s"), Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	converse(t, s, "1", "2", "3")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fork, err := store.Resume(t.Context(), uuidOf("s"), &session.ResumeOptions{At: uuidOf("p2"), Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	id := fork.ID()
	for _, when := range []string{"at first", "resumed"} {
		if d := cmp.Diff(map[string]model.Usage{"m": {Input: 100, Output: 10}}, fork.Restored().Usage); d != "" {
			t.Errorf("%s (-want +got):\n%s", when, d)
		}
		if err := fork.Close(); err != nil {
			t.Fatal(err)
		}
		if fork, err = store.Resume(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
	}
	said := &session.Message{Role: model.Assistant, Content: []model.Block{model.TextOf("cut")}, ID: "x", Model: "<synthetic>"}
	if err := fork.Append(t.Context(), session.Entry{Message: said}); err != nil {
		t.Fatal(err)
	}
	if err := fork.Close(); err != nil {
		t.Fatal(err)
	}
	if fork, err = store.Resume(t.Context(), id, nil); err != nil {
		t.Fatal(err)
	}
	if got := fork.Restored().Model; got != "m" {
		t.Errorf("the model is %q, want m", got)
	}
	if err := fork.Close(); err != nil {
		t.Fatal(err)
	}
}

// spend notes what was used beside the answers.
func spend(t *testing.T, s *session.Session, n int) {
	t.Helper()
	value, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), session.Entry{State: &session.State{Name: session.StateSpent, Value: value}}); err != nil {
		t.Fatal(err)
	}
}
