package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// followAll returns what there is to follow, each as a short text.
func followAll(t *testing.T, path string, from session.Position) (seen []string, at session.Position) {
	t.Helper()
	f, err := session.Follow(path, from)
	if err != nil {
		t.Fatal(err)
	}
	for {
		list, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return seen, f.Position()
		}
		for _, e := range list {
			seen = append(seen, followedText(e))
		}
	}
}

func followedText(e session.Followed) string {
	switch {
	case e.Message != nil && len(e.Message.Content) == 0:
		return "stop " + e.Message.ID
	case e.Message != nil:
		return e.Agent + string(e.Message.Role) + " " + e.Message.Content[0].Text
	case e.Ask != nil:
		return "ask " + e.Ask.ID
	case e.Answer != nil:
		return "answer " + e.Answer.ID + " " + e.Answer.By + " " + e.Answer.Behavior.String()
	case e.State != nil:
		return "state " + e.State.Name
	case e.Back != nil:
		return "back " + e.Back.Prompt
	}
	return "?"
}

// writeFollowed makes a session with questions, an answer's end and an agent.
func writeFollowed(t *testing.T) *session.Session {
	t.Helper()
	s := newFollowed(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	appendTo(t, s, userSays("one"))
	appendTo(t, s, session.Entry{Message: &session.Message{Role: model.Assistant, ID: "a", Model: "m-1", Content: []model.Block{model.TextOf("two")}}})
	appendTo(t, s, session.Entry{Message: &session.Message{Role: model.Assistant, ID: "a", Model: "m-1", StopReason: "end_turn"}})
	appendTo(t, s, session.Entry{Ask: &session.Ask{ID: "q1", UseID: "u1", Tool: "Bash", Rules: []string{"Bash(ls)"}}})
	later := time.Now().Add(time.Second)
	appendTo(t, s, session.Entry{Agent: "helper", Time: later, Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf("three")}}})
	appendTo(t, s, session.Entry{Time: later.Add(time.Second), Answer: &session.Answer{ID: "q1", By: "web", Behavior: tool.Allow}})
	return s
}

var followed = []string{"user one", "assistant two", "stop a", "ask q1", "helperuser three", "answer q1 web allow"}

func TestFollowerReadsEverythingInOrder(t *testing.T) {
	s := writeFollowed(t)
	got, _ := followAll(t, s.Path(), "")
	if diff := cmp.Diff(followed, got); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
}

// A reader that stops behind any entry and follows from there gets each of the others once.
func TestFollowerResumesBehindAnyEntry(t *testing.T) {
	s := writeFollowed(t)
	f, err := session.Follow(s.Path(), "")
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range list {
		rest, _ := followAll(t, s.Path(), e.After)
		if diff := cmp.Diff(followed[i+1:], append([]string{}, rest...)); diff != "" {
			t.Errorf("behind %d, at %s (-want +got):\n%s", i, e.After, diff)
		}
		back, err := session.ReadAt(t.Context(), s.Path(), e.File, e.Offset)
		if err != nil || followedText(session.Followed{Entry: back}) != followed[i] {
			t.Errorf("ReadAt(%s, %d) = %s, %v, want %s", e.File, e.Offset, followedText(session.Followed{Entry: back}), err, followed[i])
		}
	}
}

// A file that is being written is cut at any byte: what is whole comes now, the rest
// later, and nothing twice.
func TestFollowerWaitsForWholeLines(t *testing.T) {
	s := writeFollowed(t)
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	want, _ := followAll(t, s.Path(), "")
	want = append([]string{}, want...)
	main := strings.Split(strings.Join(want, "|"), "|helperuser three|")
	wanted := strings.Join(main, "|")
	path := filepath.Join(t.TempDir(), "00000000-0000-4000-8000-000000000000.jsonl")
	for cut := 0; cut < len(whole); cut += 3 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		first, at := followAll(t, path, "")
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		second, _ := followAll(t, path, at)
		if got := strings.Join(append(first, second...), "|"); got != wanted {
			t.Fatalf("cut at %d: %s, want %s", cut, got, wanted)
		}
	}
}

func TestPositionsThatMeanNothingAreRefused(t *testing.T) {
	for _, p := range []session.Position{"x", "-1", "1,../x:2", "1,:2", "1,a:-2", "1,a"} {
		if _, err := session.Follow("x", p); err == nil {
			t.Errorf("Follow(%q) took it", p)
		}
	}
}

func TestFollowerReadsLongLinesAndMany(t *testing.T) {
	s := newFollowed(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	const n = 400
	for i := range n {
		appendTo(t, s, userSays(fmt.Sprintf("%d %s", i, strings.Repeat("x", 8<<10))))
	}
	got, _ := followAll(t, s.Path(), "")
	if len(got) != n || !strings.HasPrefix(got[n-1], fmt.Sprintf("user %d ", n-1)) {
		t.Errorf("followed %d entries", len(got))
	}
}

func newFollowed(t *testing.T, store *session.Store, o *session.CreateOptions) *session.Session {
	t.Helper()
	s, err := store.Create(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func appendTo(t *testing.T, s *session.Session, e session.Entry) {
	t.Helper()
	if err := s.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func userSays(text string) session.Entry {
	return session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}}
}

// A title that another program has given is read like one of haft's, and a line without one is
// no entry.
func TestATitleOfAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "00000000-0000-4000-8000-000000000000.jsonl")
	if err := os.WriteFile(path, []byte(`{"type":"custom-title","customTitle":"tin boats","sessionId":"s"}`+"\n"+`{"type":"unknown"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var states []session.State
	for e, err := range session.Entries(t.Context(), path) {
		if err != nil || e.State == nil {
			t.Fatalf("%+v, %v", e, err)
		}
		states = append(states, *e.State)
	}
	if want := []session.State{{Name: "title", Value: json.RawMessage(`"tin boats"`)}}; !cmp.Equal(want, states) {
		t.Errorf("states %v", states)
	}
}

// Programs that show a result know the entry that it becomes: a UUID of version 5.
func TestTheUUIDOfAResult(t *testing.T) {
	one, other := session.ResultUUID("s", "toolu_1"), session.ResultUUID("s", "toolu_2")
	if len(one) != 36 || one[14] != '5' || one == other {
		t.Errorf("%s and %s", one, other)
	}
}

// A fork is in the project of its original, or in the one that it is made for.
func TestAForkIsInItsProject(t *testing.T) {
	store := session.Open(t.TempDir())
	s, err := store.Create(t.Context(), &session.CreateOptions{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	converse(t, s, "one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for cwd, same := range map[string]bool{"": true, "/w": true, "/elsewhere": false} {
		fork, err := store.Resume(t.Context(), s.ID(), &session.ResumeOptions{Fork: true, Cwd: cwd})
		if err != nil {
			t.Fatal(err)
		}
		if err := fork.Close(); err != nil {
			t.Fatal(err)
		}
		if got := filepath.Dir(fork.Path()) == filepath.Dir(s.Path()); got != same {
			t.Errorf("for %q: %s beside %s", cwd, fork.Path(), s.Path())
		}
	}
}
