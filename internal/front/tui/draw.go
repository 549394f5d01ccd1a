package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/screen"
	"github.com/haftdev/haft/internal/text/visible"
)

// A drawing puts all of it on the screen, at most once in each frame.
type drawing struct {
	menus

	title  string // of the terminal's window, as it was written last
	drawn  time.Time
	tick   <-chan time.Time // when to draw next, at due
	due    time.Time
	frames frameCount
}

// schedule says when to draw next: soon if something has changed, now and then if
// something moves by itself, never otherwise.
func (a *drawing) schedule() {
	var due time.Time
	switch {
	case a.dirty:
		due = a.drawn.Add(frame)
	case a.working != nil && !a.still():
		due = a.drawn.Add(blink)
	default:
		return
	}
	if a.tick == nil || due.Before(a.due) {
		a.due = due
		a.tick = time.After(time.Until(due))
	}
}

// draw brings the terminal up to date.
func (a *drawing) draw() {
	a.takeSize()
	a.dirty, a.drawn = false, time.Now()
	a.runStatusLine()
	a.retitle()
	v := a.view()
	asks := a.opts.Alternate && a.dialog != nil
	a.switchScreen(a.viewer != nil || a.apart && asks)
	above := a.scrolled(v)
	live, at := a.layout(v)
	if a.viewer == nil && asks && (a.apart || 2*len(live) > v.height) {
		if len(above) > 0 {
			a.screen.Draw(above, nil, screen.Cursor{}) // an error is seen at the frame that follows
		}
		a.switchScreen(true)
		above = nil
		lead := a.recent[min(max(len(a.recent)+len(live)-v.height, 0), len(a.recent)):]
		live, at.Row = slices.Concat(lead, live), at.Row+len(lead)
	}
	n, err := a.screen.Draw(above, live, at)
	a.frames.Count++
	a.frames.Bytes += n
	a.frames.Largest = max(a.frames.Largest, n)
	if err != nil {
		a.err, a.done = fmt.Errorf("draw: %w", err), true
	}
	if a.dialog != nil {
		a.dialog.drawn(time.Now())
	}
}

// layout is everything below the scrollback, and where the caret is.
func (a *drawing) layout(v view) ([]string, screen.Cursor) {
	if a.viewer != nil {
		lines := a.viewer.lines(v)
		at, typing := takeCaret(lines)
		at.Hidden = !typing
		return lines, at
	}
	foot, at := a.foot(v)
	room := max(v.height-len(foot), 0)
	body := a.body(v, room)
	if cut := len(body) - room; cut > 0 {
		body = body[cut:]
	}
	at.Row += len(body)
	if c, typing := takeCaret(body); typing && a.dialog != nil && (a.dialog.own || a.dialog.focused) {
		at = c
	}
	return append(body, foot...), at
}

// body is what is above the composer: the live part of the conversation, and the
// question that waits.
func (a *drawing) body(v view, room int) []string {
	var question []string
	if a.dialog != nil {
		question = append([]string{"", a.dialog.rule(v, a.waiting())}, a.dialog.lines(v, max(room-3, 4))...)
	}
	lines := a.show.tail(v)
	todos := a.todoLines(v, room)
	if a.working != nil && !a.waits() { // else the question says so
		todos = append([]string{a.pulse(v)}, todos...)
	}
	todos = append(todos, a.crewLines(v)...)
	if len(todos) > 0 {
		lines = append(append(lines, ""), todos...)
	}
	lines = append(lines, a.queued(v)...)
	if over := len(lines) + len(question) - room; over > 0 {
		lines = lines[min(over, len(lines)):]
	}
	return append(lines, question...)
}

// waiting is how many questions wait, the one that is shown among them.
func (a *drawing) waiting() int {
	n := 0
	for _, q := range a.asks {
		if !q.over {
			n++
		}
	}
	return n
}

// pulse says that something goes on.
func (a *drawing) pulse(v view) string {
	beat := []string{"✶", "✸", "✹", "✸"}[v.now.UnixMilli()/int64(blink/time.Millisecond)%4]
	says := v.t("working")
	if a.working.says != "" {
		says = a.working.says
	}
	if a.working.stops {
		says = v.t("stopping")
	}
	return v.paint.Accent.Of(beat) + " " + says + v.paint.Dim.Of(" "+v.t("%s · esc interrupts", seconds(v.now.Sub(a.working.since).Truncate(time.Second))))
}

// queued are the prompts that wait.
func (a *drawing) queued(v view) []string {
	var lines []string
	waiting := slices.Clip(a.pending)
	if a.talk != nil && a.working != nil {
		for _, p := range a.talk.Driver.Queued() {
			if p.Origin == "" && !p.Silent {
				waiting = append(waiting, typedText(p))
			}
		}
	}
	for _, text := range waiting {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		lines = append(lines, v.paint.Dim.Of("⏎ "+ansi.Truncate(visible.ProseCells(first), v.width-10, "…")+" "+v.t("(queued)")))
	}
	return lines
}

// foot is the composer, the menu of completions and the status line.
func (a *drawing) foot(v view) ([]string, screen.Cursor) {
	lines := []string{""}
	text, row, col := a.write.View(v.width-3, v.paint.Selected.Of)
	most := max(3, v.height/2)
	from := max(0, min(row-most/2, len(text)-most))
	mark := v.paint.Accent.Of("›")
	if strings.HasPrefix(a.write.Text(), "!") {
		mark = v.paint.Warn.Of("›")
	}
	for i, l := range text[from:min(from+most, len(text))] {
		lead := "  "
		if i == 0 {
			lead = mark + " "
		}
		if a.write.Empty() {
			l = v.paint.Dim.Of(a.placeholder(v.width - 2))
		}
		lines = append(lines, lead+l)
	}
	at := screen.Cursor{Row: 1 + row - from, Col: col + 2}
	if a.menu != nil {
		lines = append(lines, a.menu.lines(v)...)
	}
	a.status.editor = a.write.VimMode()
	last := []string{a.status.line(v, len(a.tasks))}
	if a.hint != "" {
		last = nil
		for _, part := range hardWrap(visible.Cells(a.hint), v.width) {
			last = append(last, v.paint.Warn.Of(part))
		}
	}
	at.Hidden = a.dialog != nil && a.dialog.focused
	lines = append(lines, a.statusLines(v)...)
	return append(lines, last...), at
}

// placeholder is what the empty input box says, as much as there is room for.
func (a *drawing) placeholder(width int) string {
	long, short := a.t("what should haft do? (/ commands, @ files, ! shell, ? keys)"), a.t("what should haft do?")
	switch {
	case a.dialog != nil && !a.dialog.focused:
		return a.t("a question is waiting: tab goes to it")
	case a.dialog != nil:
		return ""
	case a.working != nil:
		long, short = a.t("you can keep typing; the model reads it at its next step"), a.t("keep typing")
	case a.advice != "":
		long, short = a.t("what should haft do? (tab: %s · / commands, @ files, ! shell, ? keys)", a.advice), a.t("tab: %s", a.advice)
	}
	if ansi.StringWidth(long) > width {
		return short
	}
	return long
}

// statusLines are what the command printed, fitted to the screen.
func (a *drawing) statusLines(v view) []string {
	var lines []string
	for _, line := range a.custom.text {
		if v.paint.Dim == "" { // no colours are wanted
			lines = append(lines, ansi.Truncate(ansi.Strip(line), v.width, "…"))
		} else {
			lines = append(lines, ansi.Truncate(line, v.width, "…")+"\x1b[0m")
		}
	}
	return lines
}

// retitle names the terminal's window: the folder, and whether haft works or waits for the
// user. It is written when it has changed.
func (a *drawing) retitle() {
	if !a.opts.Title || a.talk == nil {
		return
	}
	title := "haft · " + filepath.Base(a.talk.Turns.Dir())
	switch {
	case len(a.asks) > 0:
		title = "? " + title
	case a.working != nil:
		title = "✶ " + title
	}
	if title = strings.ReplaceAll(visible.Cells(title), "\n", " "); title != a.title {
		a.title = title
		a.opts.Out.Write([]byte("\x1b]2;" + title + "\a")) // an error is seen at the next frame
	}
}

// todoLines are those of the list that are shown now.
func (a *drawing) todoLines(v view, room int) []string {
	switch {
	case a.todoView == todosHidden || a.todoView == todosAtWork && a.working == nil:
		return nil
	case a.todoView == todosShown:
		return linesOf(a.todos, min(len(a.todos), max(room/2, 2)), v)
	}
	done := 0
	for _, t := range a.todos {
		if t.Status == "completed" {
			done++
		}
	}
	if done == len(a.todos) {
		return nil
	}
	return linesOf(a.todos, min(8, room/3), v)
}
