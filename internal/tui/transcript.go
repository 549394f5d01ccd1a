package tui

import (
	"time"

	"github.com/haftdev/haft/internal/lang"
	"github.com/haftdev/haft/internal/tui/style"
)

// A view is what things are laid out for.
type view struct {
	width, height int
	paint         style.Palette
	lang          *lang.Catalogue
	now           time.Time
	turned        bool // the person has turned to the panel that is laid out
}

func (a *app) view() view {
	w, h := a.screen.Size()
	return view{width: w, height: h, paint: a.paint, lang: a.lang, now: time.Now()}
}

// t is a message in the user's language.
func (v view) t(text lang.Text, args ...any) string { return v.lang.T(text, args...) }

// A block is a piece of the conversation: a prompt, a text, a call.
type block interface {
	// take returns lines that will not change any more, once each, and whether
	// there will be no more.
	take(view) (lines []string, done bool)
	// tail returns the rest as it looks now.
	tail(view) []string
	// close says that nothing more will happen to it.
	close()
	// tight blocks follow each other without a blank line.
	tight() bool
}

// A transcript is the conversation as it is shown: what is finished is on its way
// into the scrollback, the rest is live. Blocks go up in their order, so that
// calls which run at the same time stay in the order in which they were made.
type transcript struct {
	live  []block
	begun bool // a line of the first live block went up already
	last  bool // the last block that went up was a tight one
	any   bool // something went up
}

func (t *transcript) add(b block) { t.live = append(t.live, b) }

// finished returns the lines that go into the scrollback.
func (t *transcript) finished(v view) []string {
	var lines []string
	for len(t.live) > 0 {
		b := t.live[0]
		taken, done := b.take(v)
		if len(taken) > 0 && !t.begun {
			if t.any && !(t.last && b.tight()) {
				lines = append(lines, "")
			}
			t.begun, t.any, t.last = true, true, b.tight()
		}
		lines = append(lines, taken...)
		if !done {
			break
		}
		t.live, t.begun = t.live[1:], false
	}
	if len(t.live) == 0 {
		t.live = nil
	}
	return lines
}

// finish closes everything that is live.
func (t *transcript) finish() {
	for _, b := range t.live {
		b.close()
	}
}
