package tui

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tui/style"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func message(uuid, parent string, role model.Role, blocks ...model.Block) session.Entry {
	return session.Entry{UUID: uuid, Parent: parent, Message: &session.Message{Role: role, Content: blocks}}
}

func TestBranch(t *testing.T) {
	text := model.TextOf("x")
	reminder := message("r", "", model.User, text)
	reminder.Message.Synthetic = true
	summary := session.Entry{UUID: "s", Compaction: new(session.Compaction)}
	for _, c := range []struct {
		name    string
		entries []session.Entry
		want    []string
	}{
		{"nothing", nil, nil},
		{"one after the other, without what haft added", []session.Entry{reminder, message("a", "r", model.User, text), message("b", "a", model.Assistant, text)}, []string{"a", "b"}},
		{"what was gone back from is left out", []session.Entry{message("a", "", model.User, text), message("b", "a", model.Assistant, text), message("c", "b", model.User, text), message("d", "b", model.User, text)}, []string{"a", "b", "d"}},
		{"what came before a summary is there", []session.Entry{message("a", "", model.User, text), message("b", "a", model.Assistant, text), summary, message("c", "s", model.User, text)}, []string{"a", "b", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range branch(c.entries) {
				got = append(got, e.UUID)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestWhatThePersonTyped(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks []model.Block
		want   string
	}{
		{"a text", []model.Block{model.TextOf("mend it")}, "mend it"},
		{"one that was sent while it worked", []model.Block{model.TextOf("The user sent a new message while you were working:"), model.TextOf("stop")}, "stop"},
		{"beside what haft added", []model.Block{model.TextOf("<system-reminder>\nx\n</system-reminder>"), model.TextOf("mend it")}, "mend it"},
		{"something in angle brackets", []model.Block{model.TextOf("<div> is not closed")}, "<div> is not closed"},
		{"the result of a call", []model.Block{{Type: model.ToolResult, UseID: "1"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := typedIn(c.blocks); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCallsOfAnEarlierConversationAreShownAsTheyWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{80, 24}, style.Palette{})
		defer b.close()
		use := func(id, name, input string) model.Block {
			return model.Block{Type: model.ToolUse, ID: id, Name: name, Input: json.RawMessage(input)}
		}
		result := func(id, text string, failed bool) model.Block {
			return model.Block{Type: model.ToolResult, UseID: id, IsError: failed, Content: []tool.Block{{Type: tool.TextBlock, Text: text}}}
		}
		b.talk.tools = summarized()
		b.talk.past = []session.Entry{
			message("1", "", model.User, model.TextOf("mend it")),
			message("2", "1", model.Assistant, use("a", "Bash", `{"command":"make"}`), use("b", "Bash", `{"command":"make test"}`), use("c", "Bash", `{"command":"make all"}`)),
			message("3", "2", model.User, result("a", "made", false)),
			message("4", "3", model.User, result("b", "Exit code 2", true)),
		}
		b.app.later(func() { b.app.replay(b.talk.past); b.app.dirty = true })
		b.pause(2 * frame)
		b.sees("› mend it", "● Bash make\n  └ made", "● Bash make test\n  └ Exit code 2", "○ Bash make all · cancelled", "session 5e55 goes on")
		if n := strings.Count(b.everything(), "cancelled"); n != 1 {
			t.Errorf("%d calls are shown as cancelled, want the one without a result:\n%s", n, b.everything())
		}
	})
}
