package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func bashUse(id, command string) agent.Event {
	return agent.Said{Block: model.Block{Type: model.ToolUse, ID: id, Name: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command)}}
}

func TestACallThatIsAskedAboutWaits(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.tools = summarized()
		ctx, cancel := context.WithCancel(t.Context())
		b.tell(agent.TurnStarted{}, bashUse("1", "make it"))
		c, q := bashCase("make it")
		b.ask(ctx, c, q)
		// The pipeline tells of the call's state when it likes.
		b.tell(agent.Called{Event: sched.Event{UseID: "1", Tool: "Bash", State: sched.Executing}})
		b.sees("? Bash make it · waiting for you", "Run this command?")
		if s := b.screen(); strings.Contains(s, "working") {
			t.Errorf("it is said to work:\n%s", s)
		}
		drawn := b.app.frames.Count
		b.pause(time.Hour)
		if n := b.app.frames.Count - drawn; n > 0 {
			t.Errorf("%d frames while nothing moves", n)
		}
		cancel()
		b.pause(2 * frame)
		b.sees("working")
		if s := b.screen(); strings.Contains(s, "waiting for you") {
			t.Errorf("it still waits:\n%s", s)
		}
	})
}

func TestAnAgentThatAsksIsNamed(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.tools = summarized()
		task := agent.Task{ID: "a1", UseID: "7", Type: "local_agent", AgentType: "Explore", Description: "find it", Status: "running"}
		b.tell(agent.TurnStarted{}, agent.Said{Block: model.Block{Type: model.ToolUse, ID: "7", Name: "Agent", Input: []byte(`{}`)}},
			agent.Called{Event: sched.Event{UseID: "7", Tool: "Agent", State: sched.Executing}}, agent.TaskChanged{Task: task},
			agent.Said{Agent: "a1", Block: model.Block{Type: model.ToolUse, ID: "8", Name: "Bash", Input: []byte(`{"command":"make it"}`)}})
		b.sees("  │ Bash make it")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 {
			c, q := bashCase("make it")
			c.Call.Agent = "a1"
			b.ask(ctx, c, q)
		}
		b.pause(2 * frame)
		b.sees("? Agent · its agent is waiting for you", "Run this command? (for the agent Explore, find it)", " 1 of 2 ─")
	})
}

func TestWhoInterruptsGetsBackWhatWaits(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{})
		b.talk.queue = []agent.Prompt{agent.Typed("first"), agent.Typed("second")}
		b.type_("\x1b")
		b.pause(escapeDelay + frame)
		if got := b.app.write.Text(); got != "first\n\nsecond" || b.talk.interrupts != 1 {
			t.Errorf("%q is written, %d interrupts", got, b.talk.interrupts)
		}
	})
}

func TestAQuestionIsAskedHoweverMuchItIsAbout(t *testing.T) {
	for _, size := range []Size{{90, 24}, {40, 16}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, size, style.Palette{})
			defer b.close()
			for i := range 80 {
				b.talk.held = append(b.talk.held, trust.Item{Kind: trust.Hook, Name: fmt.Sprint("h", i), Text: "do this and that, again and again\x1b]0;and this\a\n\n", Origin: settings.Origin{File: "/nowhere/project/.claude/settings.json", Line: i}})
			}
			b.app.later(func() { b.app.askTrust(b.talk.held) })
			b.pause(2 * frame)
			s := b.screen()
			for _, text := range []string{"This folder contains 80", "more lines (ctrl+o", "1 Not now", "2 Trust everything", "tab: go to this"} {
				if !strings.Contains(s, text) {
					t.Errorf("%v: %q is not on the screen:\n%s", size, text, s)
				}
			}
			b.type_("\x0f") // before anybody turned to it, too
			b.sees("q closes", `\u{1b}]0;and this\u{7}`)
			b.type_("q")
			b.sees("tab: go to this")
		})
	}
}

func TestWhatRunsInTheBackgroundCanBeSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(file, []byte("listening on 8080\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in(t, func(t *testing.T, b *bed) {
		task := agent.Task{ID: "b1", Type: "local_bash", Description: "A server\x1b[2J", Status: "running", Background: true, OutputFile: file, Started: time.Now()}
		b.tell(agent.TaskChanged{Task: task})
		b.sees("1 in background")
		b.type_("\x02")
		b.sees(`▸ A server\u{1b}[2J`, "enter shows its output", "delete stops it")
		b.type_("\r")
		b.sees("listening on 8080", `A server\u{1b}[2J`)
		b.type_("q")
		task.Status, task.Ended = "completed", task.Started.Add(12*time.Second)
		b.tell(agent.TaskChanged{Task: task})
		b.sees(`A server\u{1b}[2J: completed after 12s`)
	})
}

func TestAnOptionShowsWhatItWouldLookLike(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		input := `{"questions":[{"question":"Which?","header":"Layout","options":[{"label":"Wide","description":"","preview":"one | two"},{"label":"Tall","description":"","preview":"one above two"}]}]}`
		b.ask(ctx, tool.Case{Call: &tool.Call{UseID: "1", Tool: "AskUserQuestion", Input: []byte(input)}}, tool.Verdict{})
		b.pause(arming + 2*frame)
		b.type_("\t")
		b.pause(settling)
		b.type_("1")
		b.sees("▸ 1 Wide", "│ one | two")
		b.type_("2")
		b.sees("▸ 2 Tall", "│ one above two")
	})
}

// summarized are tools that say in a line what a call is about.
func summarized() *tool.Set {
	type input struct {
		Command string `json:"command,omitempty"`
		Path    string `json:"file_path,omitempty"`
		Pattern string `json:"pattern,omitempty"`
		About   string `json:"description,omitempty"`
	}
	var tools []tool.Tool
	for _, name := range []string{"Agent", "Bash", "Edit", "Grep", "Read"} {
		def := tool.Def[input, string]{
			Name: name, Description: name, Run: func(context.Context, *tool.Call, input) (string, error) { return "", nil },
			Paths:     func(_ *tool.Call, in input) tool.Paths { return tool.Paths{Writes: []string{in.Path}} },
			Summarize: func(in input) string { return in.Command + in.Path + in.Pattern + in.About },
		}
		if name != "Bash" {
			def.SummarizeResult = func(out string) string { return out }
		}
		tools = append(tools, tool.New(def))
	}
	return tool.NewSet(&tool.Session{Interactive: true}, tools, nil, nil)
}
