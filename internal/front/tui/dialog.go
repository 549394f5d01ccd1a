package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/key"
)

// A panel is something that a person answers or chooses from.
type panel interface {
	// lines are what is shown, at most height of them.
	lines(v view, height int) []string
	// key answers a key, once the person has turned to the panel. It reports false
	// for one that it has no use for.
	key(k key.Key) bool
}

// A dialog is a panel on the screen. One that appears by itself cannot be answered
// by accident: until the person turns to it, keys go to the composer. They turn to
// it with tab, which counts only when the dialog has been on the screen for
// [arming] and no key came for as long; and what follows tab at once is taken for
// typing too, and turns away again. A paste never answers anything.
//
// Nor is an answer sent elsewhere: enter sends no message while a question waits,
// but holds it back and says so. Enter again sends it; tab takes it to the question.
type dialog struct {
	panel   panel
	own     bool // the person called for it
	shown   time.Time
	focused bool
	turned  time.Time // when the person turned to it
	held    string    // the message that was held back
	heldAt  time.Time
}

const (
	// arming is how long a dialog must be seen and nothing typed before it can be
	// turned to, settling how long after that it can be answered.
	arming   = 300 * time.Millisecond
	settling = 150 * time.Millisecond
)

// turnAway gives the keys back to the composer.
func (d *dialog) turnAway() {
	if !d.own {
		d.focused = false
	}
}

// typing reports whether keys are letters of something that is written in the panel.
func (d *dialog) typing() bool {
	t, ok := d.panel.(interface{ typing() bool })
	return ok && t.typing()
}

// armed reports whether the person may turn to it at this moment.
func (d *dialog) armed(now, lastKey time.Time) bool {
	return !d.shown.IsZero() && now.Sub(d.shown) >= arming && now.Sub(lastKey) >= arming
}

// rule sets a panel off from the conversation, and tells how many questions wait.
func (d *dialog) rule(v view, waiting int) string {
	s, many := v.paint.Dim, ""
	if !d.own {
		s = v.paint.Warn
	}
	if !d.own && waiting > 1 {
		many = " " + v.t("%d of %d", 1, waiting) + " ──"
	}
	return s.Of(strings.Repeat("─", max(v.width-ansi.StringWidth(many), 1)) + many)
}

// lines are the panel and what keys do.
func (d *dialog) lines(v view, height int) []string {
	v.turned = d.own || d.focused
	foot := d.foot(v)
	return append(d.panel.lines(v, height-max(len(foot), 1)), foot...)
}

// foot says what keys do while a question is shown.
func (d *dialog) foot(v view) []string {
	if f, ok := d.panel.(*form); ok && d.own {
		return []string{v.paint.Dim.Of("  " + footer(max(v.width-2, 1), f.hints(v)...))}
	}
	if c, ok := d.panel.(*choices); ok && d.own && c.keys {
		return []string{v.paint.Dim.Of("  " + footer(max(v.width-2, 1), v.t("up, down or a number, then enter"), v.t("esc closes")))}
	}
	if d.own {
		return nil
	}
	if d.held != "" {
		var lines []string
		for _, part := range hardWrap(v.t("Not sent: a question is waiting. tab: go to it · enter again: send this as a message"), v.width-2) {
			lines = append(lines, v.paint.Warn.Of("  "+part))
		}
		return lines
	}
	hint := []string{v.t("tab: go to this question"), v.t("typing goes below"), v.t("enter twice: send it")}
	if d.focused {
		hint = []string{v.t("a letter answers, or up, down, enter"), v.t("esc: back to the input box")}
		if _, ok := d.panel.(*permissionPanel); !ok {
			hint[0] = v.t("up, down or a number, then enter")
		}
		if d.typing() {
			hint[0] = v.t("enter sends it")
		}
	}
	return []string{v.paint.Dim.Of("  " + footer(max(v.width-2, 1), hint...))}
}

// holds reports whether a message is held back because the question waits. The same
// message is sent the second time, unless that comes too soon to be meant.
func (d *dialog) holds(text string, now time.Time) bool {
	if d == nil || d.own || strings.ContainsAny(text[:1], "/!#") {
		return false
	}
	if d.held == text && now.Sub(d.heldAt) >= arming {
		d.held = ""
		return false
	}
	d.held, d.heldAt = text, now
	return true
}

// option is a line that can be chosen. Which one is selected matters once the
// person has turned to the panel.
func option(v view, selected bool, text string) string {
	text = cut(text, v.width-6)
	if selected && v.turned {
		return "  " + v.paint.Selected.Of("▸ "+text)
	}
	return "    " + text
}

// wrappedOption is an option whose text is shown in full.
func wrappedOption(v view, selected bool, text string) []string {
	parts := hardWrap(text, max(v.width-8, 8))
	lines := []string{option(v, selected, parts[0])}
	for _, part := range parts[1:] {
		lines = append(lines, "      "+part)
	}
	return lines
}

// cut makes a text fit a width.
func cut(text string, width int) string { return ansi.Truncate(text, max(width, 1), "…") }
