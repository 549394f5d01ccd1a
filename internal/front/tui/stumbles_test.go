package tui

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// What new users stumbled over in their first hour.

func userSaid(uuid, text string) session.Entry {
	return session.Entry{UUID: uuid, Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}}
}

func TestTheWayToUndoARewindIsSaidLast(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.past = []session.Entry{userSaid("u1", "the first"), userSaid("u2", "the second")}
		b.talk.steps = []checkpoint.Step{{Path: "/nowhere/project/a"}}
		b.type_("/rewind\r")
		b.type_("\r")
		b.type_("1\r")
		s := b.everything()
		if undo, replay := strings.Index(s, "To undo, quit haft"), strings.Index(s, "end of the earlier conversation"); undo < replay || replay < 0 {
			t.Errorf("the undo line is at %d, the replay ends at %d:\n%s", undo, replay, s)
		}
	})
}

// TestAMentionedFileIsNotPartOfThePrompt: what a resumed conversation shows, and a rewind
// brings back, is what was typed.
func TestAMentionedFileIsNotPartOfThePrompt(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		said := userSaid("u1", "look at @main.go and @src")
		said.Message.Content = append(said.Message.Content, model.TextOf("\n\n<file path=\"/nowhere/main.go\">\n1\tpackage main\n</file>\n\n<folder path=\"/nowhere/src\">\na.go\n</folder>"),
			model.TextOf("\n\n<folder path=\"/nowhere/lib\">\na.go\n</folder>"))
		b.talk.past = []session.Entry{said}
		b.type_("/rewind\r")
		b.type_("\r")
		b.sees("› look at @main.go and @src")
		if s := b.everything(); strings.Contains(s, "path=") || strings.Contains(s, "package main") {
			t.Errorf("more than what was typed:\n%s", s)
		}
	})
}

// TestATranscriptIsSearchedAsItReads: without the marks of Markdown, across styles, and never
// within an escape sequence.
func TestATranscriptIsSearchedAsItReads(t *testing.T) {
	w := &viewer{text: []record{{title: "Answer", text: "A **word** of `text`, and 1.", answer: true}}}
	v := view{width: 80, height: 10, paint: style.Of(style.Dark)}
	if got := w.lines(v)[1]; ansi.Strip(got) != "A word of text, and 1." || got == ansi.Strip(got) {
		t.Errorf("it is shown as %q", got)
	}
	for search, want := range map[string]string{
		"a word of t": v.paint.Selected.Of("A word of t") + "ext, and 1.",
		"1":           "A word of text, and " + v.paint.Selected.Of("1") + ".",
	} {
		w.search, w.lost = search, false
		w.find(1)
		if got := w.lines(v)[1-w.top]; w.lost || got != want {
			t.Errorf("%s: %q", search, got)
		}
	}
}

// TestAHintGoesWithTheKeys: back in the input box, enter confirms nothing.
func TestAHintGoesWithTheKeys(t *testing.T) {
	for name, typed := range map[string]string{"question": "s", "plan": "m"} {
		in(t, func(t *testing.T, b *bed) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			screens()[name](b, ctx)
			b.type_(typed)
			b.sees("enter confirms it")
			b.type_("\x1b")
			b.pause(escapeDelay + 2*frame)
			if s := b.screen(); strings.Contains(s, "enter confirms it") || !strings.Contains(s, "tab: go to this question") {
				t.Errorf("%s:\n%s", name, s)
			}
		})
	}
}

func TestARuleIsCheckedWhereItIsTyped(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/permissions\r")
		b.type_("\r")
		b.type_("3\r")
		b.type_("Bash(rm:*\r")
		b.sees("the closing parenthesis is missing", "Rule: Bash(rm:*▏")
		b.type_(")\r")
		b.sees("Saved in")
		b.type_("\r")
		if want := "permissions add deny Bash(rm:*) local"; !slices.Contains(b.talk.builtins, want) {
			t.Errorf("ran %q, want %q", b.talk.builtins, want)
		}
	})
}

func TestTheListOfSettingsSaysWhatTheyAreFor(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/config\r")
		b.sees("opus  the model that answers", "-  preview what commands would change")
		b.type_("\r")
		b.sees("the model that answers", "It takes a string.", "It is now opus (~/.claude/settings.json:2).")
	})
}

func TestReasonsAreShownInFull(t *testing.T) {
	long := strings.Repeat("the reason is long ", 12) + "and ends here"
	in(t, func(t *testing.T, b *bed) {
		c, q := bashCase("make")
		c.Unclear = context.DeadlineExceeded
		q.Reason, q.Message, q.NeedsPerson = long, long, true
		b.ask(t.Context(), c, q)
		b.pause(2 * frame)
		flat := strings.Join(strings.Fields(b.screen()), " ")
		if n := strings.Count(flat, "and ends here"); n != 2 {
			t.Errorf("%d of 2 long texts are there in full:\n%s", n, b.screen())
		}
		if strings.Contains(flat, "…") {
			t.Errorf("something is cut:\n%s", b.screen())
		}
	})
}

func TestALowScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{40, 15}, style.Palette{})
		defer b.close()
		c, q := bashCase(strings.Repeat("make something\n", 20) + "make the last")
		answer := b.ask(t.Context(), c, q)
		b.pause(2 * frame)
		seen := false
		for range 12 {
			b.type_("\x1b[6~") // page down, before tab
			seen = seen || strings.Contains(b.screen(), "make the last")
		}
		if !seen {
			t.Fatalf("page down does not show the end:\n%s", b.screen())
		}
		b.pause(arming)
		b.type_("\t")
		b.pause(settling)
		b.type_("y")
		select {
		case v := <-answer:
			if v.Behavior != tool.Allow {
				t.Errorf("answered with %v", v)
			}
		default:
			t.Errorf("all of the command was seen, and it cannot be answered:\n%s", b.screen())
		}
	})
}

// TestTheListOfAnswersNeedNotBeSeen has a command that fits and answers that do not.
func TestTheListOfAnswersNeedNotBeSeen(t *testing.T) {
	var s scroll
	s.window(make([]string, 10), 3, 5, view{width: 40})
	if !s.read() {
		t.Error("the text was seen, and more is demanded")
	}
	s = scroll{}
	s.window(make([]string, 10), 5, 5, view{width: 40})
	if s.read() {
		t.Error("a line was not seen")
	}
}

func TestAnAnswerThatComesTooSoon(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		c, q := bashCase("make")
		b.ask(t.Context(), c, q)
		b.pause(arming + 2*frame)
		b.type_("\ty")
		b.sees("ignored, too soon after tab: press tab, read the question, then press a letter", "or number")
		if got := b.app.write.Text(); got != "" {
			t.Errorf("the input box has %q", got)
		}
	})
}

func TestACommandIsNoAnswer(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		c, q := bashCase("make")
		answer := b.ask(t.Context(), c, q)
		b.pause(arming + 2*frame)
		b.type_("\t")
		b.pause(settling)
		b.type_("/cost\r")
		b.sees("› /cost", "answer to cost")
		select {
		case v := <-answer:
			t.Errorf("answered with %+v", v)
		default:
		}
	})
}

func TestPromptsThatWereKeptAreNamedAtTheEnd(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.queue = []agent.Prompt{agent.Typed("do that too")}
		b.app.later(func() { b.app.pending = []string{"fix\nthe tests"} })
		b.type_("/exit\r")
		<-b.done
		s := b.everything()
		for _, want := range []string{"Not sent: fix the tests", "Not sent: do that too", "the up key brings back"} {
			if !strings.Contains(s, want) {
				t.Errorf("%q is missing:\n%s", want, s)
			}
		}
	})
}

func TestADenialIsReplayedAsItWasShown(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		use := model.Block{Type: model.ToolUse, ID: "t1", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)}
		result := model.Block{Type: model.ToolResult, UseID: "t1", IsError: true, Content: tool.Text(ask.Denial("use ninja")).Content}
		b.talk.past = []session.Entry{
			userSaid("u1", "build it"),
			{UUID: "u2", Message: &session.Message{Role: model.Assistant, Content: []model.Block{use}}},
			{UUID: "u3", Message: &session.Message{Role: model.User, Content: []model.Block{result}}},
		}
		b.type_("/new\r")
		b.sees("you denied it: use ninja")
		if s := b.everything(); strings.Contains(s, "The user denied this call") {
			t.Errorf("it shows what the model was told:\n%s", s)
		}
	})
}
