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
//
// Nothing is selected at first, and enter decides only what has been highlighted on the
// screen for [settling].
type dialog struct {
	panel   panel
	own     bool // the person called for it
	shown   time.Time
	focused bool
	turned  time.Time // when the person turned to it
	held    string    // the message that was held back
	heldAt  time.Time
	lit     any // what was highlighted when it was drawn last
	litAt   time.Time
}

// A chooser is a panel in which enter decides what is highlighted.
type chooser interface {
	// lit is what is highlighted, nil for nothing.
	lit() any
}

// drawn is told when the panel has been drawn.
func (d *dialog) drawn(now time.Time) {
	if d.shown.IsZero() {
		d.shown = now
	}
	c, ok := d.panel.(chooser)
	if !ok || !d.own && !d.focused {
		d.lit = nil
		return
	}
	if lit := c.lit(); lit != d.lit {
		d.lit, d.litAt = lit, now
	}
}

// tooSoon reports whether what is highlighted was not on the screen long enough to be meant.
func (d *dialog) tooSoon(now time.Time) bool {
	c, ok := d.panel.(chooser)
	return ok && c.lit() != nil && (c.lit() != d.lit || now.Sub(d.litAt) < settling)
}

// A backer is a panel in which escape may go back a step.
type backer interface {
	backs() bool // there is a step to go back
	goBack()
}

func (d *dialog) backs() bool {
	b, ok := d.panel.(backer)
	return ok && b.backs()
}

// escapes is what escape does.
func (d *dialog) escapes(v view) string {
	switch {
	case d.backs():
		return v.t("esc goes back")
	case d.own:
		return v.t("esc closes")
	}
	return v.t("esc: back to the input box")
}

// searches reports whether a slash looks for something in the panel.
func (d *dialog) searches() bool {
	s, ok := d.panel.(interface{ searches() bool })
	return ok && s.searches()
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

// armed reports whether a key may answer the dialog yet.
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
	hints, says := d.panel.(interface{ hints(view) []string })
	if says && d.own {
		return []string{v.paint.Dim.Of("  " + footer(max(v.width-2, 1), append(hints.hints(v), d.escapes(v))...))}
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
		hint = []string{v.t("a letter answers, or up, down, enter"), d.escapes(v)}
		if _, ok := d.panel.(*permissionPanel); !ok {
			hint[0] = v.t("up, down or a number, then enter")
		}
		if d.typing() {
			hint[0] = v.t("enter sends it")
		}
		if says {
			hint = append(hints.hints(v), d.escapes(v))
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

// letterOption is an option that a letter stands for.
func letterOption(v view, selected bool, letter rune, text string) []string {
	lines := wrappedOption(v, selected, string(letter)+" "+text)
	if bare := "    " + string(letter); v.turned && strings.HasPrefix(lines[0], bare) {
		lines[0] = "    " + v.paint.Accent.With(v.paint.Bold).Of(string(letter)) + strings.TrimPrefix(lines[0], bare)
	}
	return lines
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
