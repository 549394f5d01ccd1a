package tui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// TestWordsThatLeaveOtherProgramsLeave: they cost no request.
func TestWordsThatLeaveOtherProgramsLeave(t *testing.T) {
	for _, word := range []string{"exit", "quit", ":q", ":wq", "/exit", "/quit"} {
		in(t, func(t *testing.T, b *bed) {
			b.type_(word + "\r")
			select {
			case <-b.done:
			default:
				t.Errorf("%q does not leave", word)
			}
			if len(b.talk.sent) > 0 {
				t.Errorf("%q was sent", b.talk.sent)
			}
		})
	}
}

// TestEscapeSaysWhatTheSecondOneDoes: with a text in the input box it clears the box, and up
// brings the text back.
func TestEscapeSaysWhatTheSecondOneDoes(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("a long thought")
		b.type_("\x1b")
		b.sees("esc again clears the input box; up brings the text back")
		b.type_("\x1b")
		b.pause(frame)
		if !b.app.write.Empty() {
			t.Errorf("the box has %q", b.app.write.Text())
		}
		b.type_("\x1b[A")
		if got := b.app.write.Text(); got != "a long thought" {
			t.Errorf("up brings back %q", got)
		}
	})
}

// TestAnAnswerThatStartsAgainIsAnotherText: what was said before a connection broke is not the
// beginning of its repetition.
func TestAnAnswerThatStartsAgainIsAnotherText(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		start := agent.Streamed{Event: model.Start{ID: "m"}}
		b.tell(agent.TurnStarted{}, prompted("say it"), start, delta(0, "The answer is four"))
		b.tell(start, delta(0, "The answer is five.\n"), stop(0), agent.Result{Reason: agent.Completed})
		if s := b.everything(); strings.Contains(s, "fourThe") || !strings.Contains(s, "The answer is four\n\n! The answer broke off. Retrying.\n\nThe answer is five.") {
			t.Errorf("it shows\n%s", s)
		}
	})
}

// TestAFailureSuggestsWhatHelps: to continue helps against nothing that lasts.
func TestAFailureSuggestsWhatHelps(t *testing.T) {
	for kind, want := range map[model.ErrorKind]string{model.Unauthorized: "/login", model.Billing: "/login", model.UnknownModel: "/model", model.Overloaded: "continue"} {
		in(t, func(t *testing.T, b *bed) {
			b.tell(agent.TurnStarted{}, agent.Result{Reason: agent.APIError, Err: &model.Error{Kind: kind}})
			b.sees("tab: " + want)
		})
	}
}

// TestTheBranchIsThatOfNow: a command may change it in the middle of a turn.
func TestTheBranchIsThatOfNow(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	on := func(branch string) {
		if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	on("main")
	sized(t, Size{200, 24}, func(t *testing.T, b *bed) {
		b.talk.dir = dir
		b.type_("/new\r")
		b.sees(" · main")
		b.tell(agent.TurnStarted{}, use("1", "Bash", `{"command":"git switch topic"}`), runs("1"))
		on("topic")
		b.tell(returned("1", "Bash", ""))
		b.sees(" · topic")
	})
}

// TestALostSessionFileIsToldOf, once.
func TestALostSessionFileIsToldOf(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{}, agent.Result{Reason: agent.Completed})
		b.talk.lost = "/home/me/s.jsonl"
		for range 2 {
			b.tell(agent.TurnStarted{}, agent.Result{Reason: agent.Completed})
		}
		if n := strings.Count(b.everything(), "The file of this session is gone: /home/me/s.jsonl."); n != 1 {
			t.Errorf("told %d times:\n%s", n, b.everything())
		}
	})
}

// TestAStoppedCallIsShownAsStopped when its session is resumed, without what the model reads.
func TestAStoppedCallIsShownAsStopped(t *testing.T) {
	for _, text := range []string{
		"Cancelled while it ran: the user interrupted the turn.",
		"[Bash was interrupted: the session ended while it ran, and its outcome is unknown. It may have happened in full, in part or not at all: check before you repeat it.]",
		"The command was interrupted and stopped, with everything it started.",
	} {
		in(t, func(t *testing.T, b *bed) {
			b.talk.past = []session.Entry{
				{UUID: "u1", Message: &session.Message{Role: model.Assistant, Content: []model.Block{{Type: model.ToolUse, ID: "1", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)}}}},
				{UUID: "u2", Message: &session.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: "1", IsError: true, Content: []tool.Block{{Type: tool.TextBlock, Text: text}}}}}},
			}
			b.type_("/resume x\r")
			b.sees("○ Bash · interrupted")
			if s := b.everything(); strings.Contains(s, text[:20]) {
				t.Errorf("it shows what the model reads:\n%s", s)
			}
		})
	}
}

// TestShellCommandsThatWaitAreNotShownAsPrompts: they are told to the model in tags.
func TestShellCommandsThatWaitAreNotShownAsPrompts(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{})
		b.talk.queue = []agent.Prompt{{Silent: true, Content: []model.Block{model.TextOf("<bash-input>ls</bash-input>")}}, agent.Typed("and the tests")}
		b.type_(" ")
		b.sees("and the tests (queued)")
		if s := b.screen(); strings.Contains(s, "bash-input") {
			t.Errorf("it shows\n%s", s)
		}
	})
}

// TestNotifications holds what a terminal is sent so that its user learns of a question.
func TestNotifications(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;Run this command? make; ls\x1b\\"},
		{map[string]string{"TERM": "xterm-kitty"}, "\x1b]99;;Run this command? make; ls\x1b\\"},
		{map[string]string{"TERM_PROGRAM": "ghostty"}, "\x1b]777;notify;haft;Run this command? make, ls\x1b\\"},
		{map[string]string{"TMUX": "/tmp/s,1,0"}, "\x1bPtmux;\x1b\x1b]9;Run this command? make; ls\x1b\x1b\\\x1b\\"},
	} {
		if got := Notification("Run this command?\nmake; ls", func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
	if got := Notification("a\x1b]0;evil\a", func(string) string { return "" }); strings.Count(got, "\x1b") != 2 {
		t.Errorf("what a command says gets out of the notification: %q", got)
	}
}

// TestTheTaskListIsOneList: calls that change it have no cards, and it stays in the scrollback at
// the end of the turn that changed it.
func TestTheTaskListIsOneList(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		tasks := []map[string]string{{"subject": "Find it", "status": "completed"}, {"subject": "Fix it", "status": "in_progress"}}
		b.tell(agent.TurnStarted{}, prompted("go"), use("1", "TaskCreate", `{"subject":"Find it"}`), runs("1"), agent.Changed{What: agent.Tasks, Value: tasks}, returned("1", "TaskCreate", "made"))
		b.sees("☑ Find it", "▸ Fix it")
		for range 2 {
			b.tell(agent.TurnStarted{}, agent.Result{Reason: agent.Completed})
		}
		if s := b.everything(); strings.Contains(s, "TaskCreate") || strings.Count(s, "Find it") != 1 {
			t.Errorf("it shows\n%s", s)
		}
	})
}

// TestBackgroundAgentsAreATree: each with its calls, its tokens and the call that it makes.
func TestBackgroundAgentsAreATree(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		for i, name := range []string{"Find the parser", "Read the tests"} {
			b.tell(agent.TaskChanged{Task: agent.Task{ID: name, Type: "local_agent", AgentType: "Explore", Description: name, Status: "running", Background: true, ToolUses: 3 + i, Tokens: 12_000, LastTool: "Grep"}})
		}
		b.sees("  ├ Explore, Find the parser · 3 calls, 12k tokens · Grep\n  └ Explore, Read the tests · 4 calls, 12k tokens · Grep")
	})
}
