package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
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

func TestWhatTheUserTyped(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks []model.Block
		want   string
	}{
		{"a text", []model.Block{model.TextOf("fix it")}, "fix it"},
		{"one that was sent while it worked", []model.Block{model.TextOf("The user sent a new message while you were working:"), model.TextOf("stop")}, "stop"},
		{"beside what haft added", []model.Block{model.TextOf("<system-reminder>\nx\n</system-reminder>"), model.TextOf("fix it")}, "fix it"},
		{"something in angle brackets", []model.Block{model.TextOf("<div> is not closed")}, "<div> is not closed"},
		{"the result of a call", []model.Block{{Type: model.ToolResult, UseID: "1"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Typed(c.blocks); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
