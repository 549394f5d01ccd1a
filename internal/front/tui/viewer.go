package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
)

// A record is a message, a call or a thought in full, kept for the viewer.
type record struct {
	title, text string
	answer      bool // it is what the model said
}

// answerTitle is that of what the model said.
const answerTitle lang.Text = "Answer"

// Records are bounded in number and size: what is older is in the session's file.
const (
	maxRecords = 200
	maxRecord  = 64 << 10
)

// A viewer shows a text on the whole screen, the terminal's other one, so that the
// scrollback stays as it is.
type viewer struct {
	title string
	text  []record
	width int // that shown is laid out for
	shown []string
	top   int
	prose bool   // lines are broken between words
	end   func() // called when the last line is on the screen; may be nil

	asking bool   // what is searched for is being typed
	search string // "" for nothing
	lost   bool   // it does not occur
	match  int    // the line that was found last
}

func (w *viewer) lay(v view) {
	if w.width == v.width {
		return
	}
	w.width, w.shown = v.width, nil
	for i, r := range w.text {
		if i > 0 {
			w.shown = append(w.shown, "")
		}
		if r.title != "" {
			w.add("── "+r.title, v)
		}
		if r.answer {
			m := markdown.New(v.width, v.paint)
			m.Write(r.text)
			w.shown = append(w.shown, m.Close()...)
			continue
		}
		for l := range strings.SplitSeq(r.text, "\n") {
			w.add(l, v)
		}
	}
}

// add lays out a raw line.
func (w *viewer) add(line string, v view) {
	if !w.prose {
		w.shown = append(w.shown, strings.Split(ansi.Hardwrap(visible.Cells(line), max(v.width, 8), true), "\n")...)
		return
	}
	for i, part := range hardWrap(visible.Cells(line), max(v.width-4, 8)) {
		w.shown = append(w.shown, strings.Repeat("    ", min(i, 1))+part)
	}
}

func (w *viewer) lines(v view) []string {
	w.lay(v)
	room := max(v.height-1, 1)
	w.top = max(0, min(w.top, len(w.shown)-room))
	page := w.shown[w.top:min(w.top+room, len(w.shown))]
	if w.end != nil && w.top+len(page) == len(w.shown) {
		w.end()
	}
	var lines []string
	for _, l := range page {
		lines = append(lines, w.marked(l, v))
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	return append(lines, w.foot(v, len(page)))
}

// marked is a line with what is searched for set off, and nothing else.
func (w *viewer) marked(line string, v view) string {
	plain := ansi.Strip(line)
	if from, _ := found(plain, w.search); w.search == "" || from < 0 {
		return line
	}
	line = plain
	var b strings.Builder
	for {
		from, to := found(line, w.search)
		if from < 0 {
			return b.String() + line
		}
		b.WriteString(line[:from] + v.paint.Selected.Of(line[from:to]))
		line = line[to:]
	}
}

// found is where a line has a text, whatever its case; -1 if nowhere. A line in which the
// cases differ in length is compared as it is.
func found(line, text string) (from, to int) {
	if lower := strings.ToLower(line); len(lower) == len(line) {
		line, text = lower, strings.ToLower(text)
	}
	from = strings.Index(line, text)
	return from, from + len(text)
}

// foot says where in the text the page is, and what keys do.
func (w *viewer) foot(v view, shown int) string {
	if w.asking {
		return v.paint.Accent.Of("/") + visible.Cells(w.search) + caret
	}
	where := v.t("%d–%d of %d", w.top+1, w.top+shown, len(w.shown))
	if w.lost {
		where = v.t("not found: %s", visible.Cells(w.search))
	}
	keys := []string{where, v.t("q closes"), v.t("/ searches"), v.t("page up, page down, home, end")}
	if w.search != "" && !w.lost {
		keys = []string{where, v.t("n, N: next, previous match"), v.t("q closes")}
	}
	title := min(ansi.StringWidth(visible.Cells(w.title)), 30) + 3
	foot := footer(v.width-title, keys...)
	if !strings.Contains(foot, keys[1]) { // how to close it is worth more than the title
		foot = footer(v.width, keys...)
	}
	if room := v.width - ansi.StringWidth(foot) - 3; room >= 8 {
		foot = cut(visible.Cells(w.title), room) + " · " + foot
	}
	return v.paint.Dim.Of(foot)
}

// key scrolls and searches, and reports whether the viewer is to be closed.
func (w *viewer) key(k key.Key, v view) bool {
	w.lay(v)
	if w.asking {
		w.ask(k)
		return false
	}
	page := max(v.height-2, 1)
	switch k.String() {
	case "q", "esc", "ctrl+o", "ctrl+c", "enter":
		return true
	case "up", "k":
		w.top--
	case "down", "j":
		w.top++
	case "pageup", "b":
		w.top -= page
	case "pagedown", " ":
		w.top += page
	case "home", "g":
		w.top = 0
	case "end", "G":
		w.top = 1 << 30
	case "/":
		w.asking, w.search, w.lost = true, "", false
	case "n":
		w.find(1)
	case "N":
		w.find(-1)
	}
	return false
}

// ask takes a key of what is searched for.
func (w *viewer) ask(k key.Key) {
	switch {
	case k.Name == key.Enter:
		w.asking, w.match = false, w.top-1 // a match on the first line counts
		w.find(1)
	case k.Name == key.Escape, k.Rune == 'c' && k.Ctrl:
		w.asking, w.search = false, ""
	case k.Name == key.Backspace && w.search != "":
		r := []rune(w.search)
		w.search = string(r[:len(r)-1])
	case k.Writes():
		w.search += string(k.Rune)
	}
}

// find goes to the next line that has what is searched for, in a direction, around the ends
// of the text.
func (w *viewer) find(step int) {
	n := len(w.shown)
	if w.search == "" || n == 0 {
		return
	}
	for i := 1; i <= n; i++ {
		at := ((w.match+i*step)%n + n) % n
		if from, _ := found(ansi.Strip(w.shown[at]), w.search); from >= 0 {
			w.match, w.top, w.lost = at, at, false
			return
		}
	}
	w.lost = true
}
