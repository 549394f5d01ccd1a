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

// turnTo gives the keys to the question, and with them the message that was held back,
// if it can be an answer.
func (a *app) turnTo(d *dialog, now time.Time) {
	d.focused, d.turned = true, now
	if p, ok := d.panel.(interface{ take(string) bool }); ok && d.held != "" && d.held == strings.TrimSpace(a.write.Filled()) && p.take(d.held) {
		a.write.Take()
	}
	d.held = ""
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

// dialogKey gives a key to the dialog, if that is meant. It reports false if the
// key is for the rest of the screen.
func (a *app) dialogKey(k key.Key) bool {
	d, now := a.dialog, time.Now()
	switch {
	case d.own && k == key.Key{Rune: 'c', Ctrl: true}:
		return a.closeOwn()
	case d.own:
		return d.panel.key(k) || k.Name == key.Escape && a.closeOwn() || a.noAnswer(k)
	case !d.focused && k == key.Key{Name: key.Tab}:
		if d.armed(now, a.lastKey) {
			a.turnTo(d, now)
		} else {
			a.hint = a.t("press tab again after a moment without typing")
		}
		return true
	case !d.focused && (k == key.Key{Rune: 'o', Ctrl: true} || k.Name == key.PageDown || k.Name == key.PageUp):
		return d.panel.key(k) // it shows more of the question, and answers nothing
	case !d.focused:
		return false
	case k == key.Key{Name: key.Tab, Shift: true}:
		return false // the mode is changed whatever has the focus
	case k.Name == key.Escape || k.Rune == 'c' && k.Ctrl:
		d.turnAway()
		return k.Name == key.Escape
	case k == key.Key{Rune: '/'} && a.write.Empty() && !d.typing():
		d.turnAway() // a command, whose letters are no answers
		return false
	case now.Sub(d.turned) < settling:
		d.turnAway()
		a.hint = a.t("ignored, too soon after tab: press tab, read the question, then press a letter or number")
		// Enter would send what is written, and an answer is not the beginning of a message.
		return k.Name == key.Enter || a.write.Empty()
	}
	if !d.panel.key(k) {
		a.noAnswer(k)
	}
	return true
}

// noAnswer says that what was typed is no answer, so that nothing is typed in vain.
func (a *app) noAnswer(k key.Key) bool {
	if !k.Writes() {
		return false
	}
	a.hint = a.t("%s is not an answer here; esc goes back to the input box", string(k.Rune))
	return true
}

// pop shows a panel that the person called for.
func (a *app) pop(p panel) {
	a.dialog = &dialog{panel: p, own: true, focused: true}
	a.dirty = true
}

// closeOwn closes the panel that the person called for, and shows the question
// that may wait.
func (a *app) closeOwn() bool {
	d := a.dialog
	a.dialog = nil
	if p, ok := d.panel.(interface{ closed() }); ok {
		p.closed()
	}
	a.nextAsk()
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
