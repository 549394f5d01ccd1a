package tui

import (
	"slices"
	"time"

	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/text/lang"
)

// A view is what things are laid out for.
type view struct {
	width, height int
	paint         style.Palette
	lang          *lang.Catalogue
	now           time.Time
	turned        bool // the person has turned to the panel that is laid out
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
	// compact blocks follow each other without a blank line.
	compact() bool
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
			if t.any && !(t.last && b.compact()) {
				lines = append(lines, "")
			}
			t.begun, t.any, t.last = true, true, b.compact()
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

func (t *transcript) resize(v view) {
	for _, b := range t.live {
		if s, ok := b.(*text); ok {
			s.stream.Resize(v.width)
		}
	}
}

// insert puts a block before another one that is live, or before everything that
// is, except a text of which a part has gone up already.
func (t *transcript) insert(b, before block) {
	at := max(slices.Index(t.live, before), 0)
	if t.begun {
		at = max(at, 1)
	}
	t.live = slices.Insert(t.live, min(at, len(t.live)), b)
}

// tail returns the live lines.
func (t *transcript) tail(v view) []string {
	var lines []string
	last, begun := t.last, t.begun
	for _, b := range t.live {
		part := b.tail(v)
		if len(part) == 0 {
			continue
		}
		if !begun && (t.any || len(lines) > 0) && !(last && b.compact()) {
			lines = append(lines, "")
		}
		begun, last = false, b.compact()
		lines = append(lines, part...)
	}
	return lines
}
