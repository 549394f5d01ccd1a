package tui

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// asExpected compares a screen with the file that holds it. Each begins with a line on
// what it shows.
func asExpected(t *testing.T, name, about, got string) {
	t.Helper()
	golden.Check(t, filepath.Join("testdata", name+".txt"), about+"\n"+got)
}

func delta(index int, text string) agent.Event {
	return agent.Streamed{Event: model.Delta{Index: index, Type: model.TextDelta, Text: text}}
}

func stop(index int) agent.Event { return agent.Streamed{Event: model.BlockStop{Index: index}} }

func use(id, name, input string) agent.Event {
	return agent.Said{Block: model.Block{Type: model.ToolUse, ID: id, Name: name, Input: json.RawMessage(input)}}
}

func runs(id string) agent.Event {
	return agent.Called{Event: sched.Event{UseID: id, State: sched.Executing}}
}

func returned(id, name, text string) agent.Event {
	now, r := time.Now(), tool.Text(text)
	r.Output = text
	return agent.Returned{Outcome: &sched.Outcome{UseID: id, Tool: name, Status: sched.Succeeded, Result: r, Started: now.Add(-2 * time.Second), Ended: now}}
}

func prompted(text string) agent.Event {
	p := agent.Typed(text)
	return agent.Added{Kind: agent.Prompted, Prompt: &p}
}

var sizes = []Size{{80, 24}, {40, 16}, {120, 40}}

// TestScreens holds what a person sees in the course of a turn, at several sizes.
func TestScreens(t *testing.T) {
	for _, size := range sizes {
		at := fmt.Sprintf("%dx%d", size.Width, size.Height)
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, size, style.Palette{})
				defer b.close()
				asExpected(t, "start-"+at, "A person has started haft and can write.", b.screen())
				b.tell(agent.TurnStarted{Model: "scripted-1", Mode: "default"}, prompted("Fix the test, please."))
				b.tell(delta(0, "# What I see\n\nThe *test* of `Total` fails because\n"), delta(0, "\n```go\nfunc Total() int {\n\treturn 1\n"))
				asExpected(t, "stream-"+at, "An answer streams in: the code block is open.", b.screen())
				b.tell(delta(0, "}\n```\n\nI look closer."), stop(0))
				b.tell(use("1", "Bash", `{"command":"go test ./..."}`), use("2", "Read", `{"file_path":"/a/b.go"}`), runs("1"), runs("2"))
				b.tell(agent.Called{Event: sched.Event{UseID: "1", Progress: tool.BashProgress{Output: "ok a\nok b\nFAIL c\n", Lines: 3, Elapsed: time.Second}}})
				b.tell(returned("2", "Read", "12 lines"))
				asExpected(t, "calls-"+at, "Two calls run at once; the second is done and waits for the first.", b.screen())
				b.tell(agent.Changed{What: agent.Todos, Value: []todo{{"Find it", "Finding it", "completed"}, {"Fix it", "Fixing it", "in_progress"}, {"Test it", "Testing it", "pending"}}})
				b.type_("also look at main.go")
				asExpected(t, "todos-"+at, "The todos are shown while it works, and a person writes on.", b.screen())
				b.tell(returned("1", "Bash", "FAIL c"), agent.Result{Reason: agent.Completed})
				asExpected(t, "done-"+at, "The turn is over: the cards are in the order of the calls.", b.everything())
			})
		})
	}
}

// TestNoFrameIsLaidOutForAnOldSize: between a resize and its report nothing is drawn for the
// size before.
func TestNoFrameIsLaidOutForAnOldSize(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		size := Size{80, 24}
		b.app.later(func() { b.app.opts.Now = func() Size { return size } })
		b.tell(agent.TurnStarted{}, prompted("say it"))
		b.app.later(func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			size = Size{33, 14}
			b.term.Resize(33, 14)
		})
		b.tell(delta(0, strings.Repeat("words that fill more than a line of the screen ", 3)))
		if w, h := b.app.screen.Size(); w != 33 || h != 14 {
			t.Errorf("the frame is for %dx%d", w, h)
		}
		b.sees("words that fill more than a")
	})
}

// TestAnOldReportOfASizeIsNotBelieved: it would move the first live line to where it has not been.
func TestAnOldReportOfASizeIsNotBelieved(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.app.later(func() { b.app.opts.Now = func() Size { return Size{80, 24} } })
		b.tell(agent.TurnStarted{}, prompted("say it"), delta(0, "it "))
		b.sizes <- Size{20, 2}
		b.tell(delta(0, "is said"))
		if n := strings.Count(b.everything(), "esc interrupts"); n != 1 {
			t.Errorf("%d frames:\n%s", n, b.everything())
		}
	})
}

// TestATallQuestionLeavesNothing: it is asked on the alternate screen, below what was said last;
// resized or not, the conversation is then as if it had not been asked.
func TestATallQuestionLeavesNothing(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.app.later(func() { b.app.opts.Alternate = true })
		b.tell(agent.TurnStarted{}, prompted("make it"), delta(0, "I will.\n\n"), stop(0))
		b.tell(delta(1, "Now.\n\n"))
		c, q := bashCase(strings.Repeat("make some of it; ", 30))
		answer := b.ask(t.Context(), c, q)
		b.pause(2 * frame)
		if !b.term.IsAltScreen() {
			t.Error("it is not asked on the alternate screen")
		}
		b.sees("I will.", "Run this command?")
		for _, s := range []Size{{30, 10}, {100, 30}, {80, 24}} {
			b.mu.Lock()
			b.term.Resize(s.Width, s.Height)
			b.mu.Unlock()
			b.sizes <- s
			b.pause(2 * frame)
			b.sees("question")
		}
		b.pause(time.Second)
		b.type_("\t")
		b.pause(time.Second)
		b.type_("n")
		if v := <-answer; v.Behavior != tool.Deny {
			t.Errorf("the answer is %v", v)
		}
		b.pause(2 * frame)
		if b.term.IsAltScreen() {
			t.Error("the alternate screen is still shown")
		}
		if all := b.everything(); strings.Contains(all, "Run this command?") || strings.Count(all, "I will.") != 1 || strings.Count(all, "Now.") != 1 {
			t.Errorf("the question has left something, or lost something:\n%s", all)
		}
	})
}

// TestTheAlternateScreenIsLeftAtTheEnd, even if haft ends while a full-screen text is shown.
func TestTheAlternateScreenIsLeftAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{80, 24}, style.Palette{})
		b.type_("?")
		if !b.term.IsAltScreen() {
			t.Error("the list of keys is not on the alternate screen")
		}
		b.close()
		if b.term.IsAltScreen() {
			t.Error("the shell would be on the alternate screen")
		}
	})
}

func TestTerminalsWithAnAlternateScreen(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, true},
		{map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/s,1,0"}, true},
		{map[string]string{"TERM": "screen-256color"}, false}, // GNU screen, perhaps through ssh
		{map[string]string{"TERM": "xterm-256color", "STY": "1.pts"}, false},
		{map[string]string{"TERM": "linux"}, false},
		{nil, true}, // Windows Terminal
	} {
		if got := HasAlternate(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}
