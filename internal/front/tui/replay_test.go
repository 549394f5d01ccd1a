package tui

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func message(uuid, parent string, role model.Role, blocks ...model.Block) session.Entry {
	return session.Entry{UUID: uuid, Parent: parent, Message: &session.Message{Role: role, Content: blocks}}
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
		denied := func(e session.Entry, reason, rule string) session.Entry {
			e.Message.Denied = &session.Denied{Reason: reason, Rule: rule}
			return e
		}
		b.talk.past = []session.Entry{
			message("1", "", model.User, model.TextOf("fix it")),
			message("2", "1", model.Assistant, use("a", "Bash", `{"command":"make"}`), use("b", "Bash", `{"command":"make test"}`), use("c", "Bash", `{"command":"make all"}`),
				use("d", "Bash", `{"command":"git push"}`), use("e", "Bash", `{"command":"git tag"}`), use("f", "Bash", `{"command":"git am"}`), use("g", "Bash", `{"command":"git gc"}`)),
			message("3", "2", model.User, result("a", "made", false)),
			message("4", "3", model.User, result("b", "Exit code 2", true)),
			denied(message("5", "4", model.User, result("d", "<tool_use_error>Denied: a rule denies it. (rule Bash(git push:*) in /x/settings.json:4)</tool_use_error>", true)), "a rule denies it", "Bash(git push:*)"),
			denied(message("6", "5", model.User, result("e", "<tool_use_error>tags are made by the release</tool_use_error>", true)), "hook check-tags.sh", ""),
			denied(message("7", "6", model.User, result("f", "<tool_use_error>"+ask.Denial("mail it")+"</tool_use_error>", true)), "the user denied it", ""),
			message("8", "7", model.User, result("g", ask.Denial(""), true)), // as older journals have it
		}
		b.app.later(func() { b.app.replay(b.talk.past); b.app.dirty = true })
		b.pause(2 * frame)
		b.sees("› fix it", "● Bash make\n  └ made", "● Bash make test\n  └ Exit code 2", "○ Bash make all · cancelled",
			"● Bash git push · denied: a rule denies it (rule Bash(git push:*))\n", "● Bash git tag · denied: tags are made by the release\n",
			"● Bash git am · you denied it: mail it\n", "● Bash git gc · you denied it\n", "session 5e55 continues")
		if n := strings.Count(b.everything(), "cancelled"); n != 1 {
			t.Errorf("%d calls are shown as cancelled, want the one without a result:\n%s", n, b.everything())
		}
	})
}
