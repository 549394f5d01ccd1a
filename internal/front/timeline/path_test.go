package timeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// What the conversation went back from is marked, and is part of it again when the user
// returns to it.
func TestWhatTheConversationWentBackFrom(t *testing.T) {
	store := session.Open(t.TempDir())
	s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	id, path := s.ID(), s.Path()
	uuid := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	say := func(n int, prompt, answer string) {
		t.Helper()
		sessiontest.Add(t, s, sessiontest.Prompt(prompt))
		a := sessiontest.Answer(fmt.Sprint("m", n), model.TextOf(answer))
		a.UUID = uuid(n)
		sessiontest.Add(t, s, a)
	}
	resume := func(at string) {
		t.Helper()
		sessiontest.Close(t, s)
		s = sessiontest.Resume(t, store, id, &session.ResumeOptions{At: at})
	}
	left := func() string {
		t.Helper()
		v, err := timeline.Load(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, i := range v.Items(0, 100) {
			sign := "+"
			if i.Left {
				sign = "-"
			}
			if v.Turns()[i.Turn].Left != i.Left {
				sign += "!"
			}
			out = append(out, sign+i.Text)
		}
		sum := v.Summary()
		return strings.Join(out, " ") + " last=" + sum.Last
	}
	want := func(about, want string) {
		t.Helper()
		if got := left(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", about, got, want)
		}
	}
	say(1, "one", "1")
	say(2, "two", "2")
	want("a conversation", "+one +1 +two +2 last=2")
	resume(uuid(1))
	want("nothing is said yet", "+one +1 +two +2 last=2")
	if err := s.KeepPlace(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("it went back", "+one +1 -two -2 last=1")
	say(3, "three", "3")
	want("it continues", "+one +1 -two -2 +three +3 last=3")
	resume(uuid(2)) // without KeepPlace, as by --resume-session-at
	say(4, "four", "4")
	want("it returns to what it had left", "+one +1 +two +2 -three -3 +four +4 last=4")
	sessiontest.Close(t, s)
}
