package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// earlier are sessions to choose from, with what a look into two of them finds.
func (f *fakeTalk) earlier() {
	said := func(role model.Role, text string) session.Entry {
		return session.Entry{Message: &session.Message{Role: role, Content: []model.Block{model.TextOf(text)}}}
	}
	f.sessions = []session.Info{
		{ID: "aaa", Prompt: "old work", Modified: time.Now().Add(-3 * time.Hour), Branch: "topic"},
		{ID: "5e55", Prompt: "this one"},
		{ID: "bbb", Title: "Fix the parser", Prompt: "the lexer loops", Modified: time.Now().Add(-50 * time.Hour)},
		{ID: "ccc", Prompt: "elsewhere", Modified: time.Now().Add(-60 * time.Hour), Cwd: "/other/place"},
	}
	f.overviews = map[string]harness.Overview{
		"aaa": {Cost: 0.42, Turns: make([]harness.Turn, 1), Last: []session.Entry{said(model.User, "old work"), said(model.Assistant, "It is done:\nall of it.")}},
		"bbb": {Cost: 1.5, Unpriced: true, Turns: make([]harness.Turn, 3)},
	}
}

func TestAnEarlierSessionIsResumed(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.earlier()
		b.type_("/resume\r")
		b.sees("▸ old work        3 h ago · $0.42 · 1 prompt · topic", "Fix the parser  2 days ago · over $1.50 · 3 prompts", "│ › old work", "│   all of it.", "2 · enter resumes it")
		if s := b.screen(); strings.Contains(s, "this one") || strings.Contains(s, "elsewhere") {
			t.Errorf("the screen is\n%s", s)
		}
		b.type_("lexer") // is in its first prompt
		b.sees("▸ Fix the parser")
		b.type_("\r")
		if got := b.opened[len(b.opened)-1]; got != (Opening{Resume: "bbb"}) {
			t.Errorf("opened %+v", got)
		}
	})
}

func TestSessionsOfOtherFoldersAreListed(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.earlier()
		b.type_("/resume\r\tplace")
		b.sees("▸ elsewhere", "/other/place")
		b.type_("\r")
		if got := b.opened[len(b.opened)-1]; got != (Opening{Resume: "ccc"}) {
			t.Errorf("opened %+v", got)
		}
	})
}

// TestTheStartLetsTheUserChoose begins as 'haft --resume' does: a session is chosen before
// there is a conversation, or a new one begins.
func TestTheStartLetsTheUserChoose(t *testing.T) {
	for keys, want := range map[string]Opening{"\x1b[B\r": {Resume: "5e55"}, "\x1b": {}, "\x03": {}} {
		in(t, func(t *testing.T, b *bed) {
			b.talk.earlier()
			b.app.later(func() {
				b.app.closeTalk()
				b.opened, b.app.opts.First.Choose = nil, true
				b.app.begin()
			})
			b.pause(2 * frame)
			b.sees("Which session in this folder should be resumed?", "▸ old work")
			b.type_(keys)
			b.pause(escapeDelay + frame)
			if len(b.opened) != 1 || b.opened[0] != want {
				t.Errorf("opened %+v, want %+v", b.opened, want)
			}
			if said := strings.Contains(b.everything(), "Nothing was resumed; this is a new conversation."); said != (want == Opening{}) {
				t.Errorf("said that nothing was resumed: %v, after %q", said, keys)
			}
		})
	}
}
