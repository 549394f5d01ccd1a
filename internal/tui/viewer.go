package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/card"
	"github.com/haftdev/haft/internal/tui/key"
	"github.com/haftdev/haft/sched"
)

// A record is a call or a thought in full, kept for the viewer.
type record struct{ title, text string }

// Records are bounded in number and size: what is older is in the session's file.
const (
	maxRecords = 100
	maxRecord  = 64 << 10
)

func (a *app) record(title, text string) {
	if len(text) > maxRecord {
		text = text[:maxRecord/2] + "\n…\n" + text[len(text)-maxRecord/2:]
	}
	if len(a.records) >= maxRecords {
		a.records = a.records[1:]
	}
	a.records = append(a.records, record{title, text})
}

// fullCall is all of a call: what was sent, what decided, what came back.
func fullCall(out *sched.Outcome, end card.Ending) string {
	text := "input " + object(out.Input) + "\n"
	if end.Verdict != "" {
		text += end.Verdict + "\n"
	}
	text += "\n" + out.Result.Text()
	for _, h := range end.Hunks {
		text += "\n" + strings.Join(h.Lines, "\n")
	}
	return text
}

// A viewer shows a text on the whole screen, the terminal's other one, so that the
// scrollback stays as it is.
type viewer struct {
	title string
	text  []string // raw lines
	width int      // that shown is laid out for
	shown []string
	top   int
}

// openViewer shows calls and thoughts in full, the newest at the end.
func (a *app) openViewer() {
	var b strings.Builder
	for _, r := range a.records {
		fmt.Fprintf(&b, "── %s\n%s\n\n", r.title, strings.TrimRight(r.text, "\n"))
	}
	if b.Len() == 0 {
		a.hint = "nothing was called yet"
		return
	}
	a.openText("calls and thoughts", ansi.Strip(b.String())) // colours of programs are no news
	a.viewer.top = 1 << 30
}

// openText shows a text, with every escape in it made visible.
func (a *app) openText(title, text string) {
	a.screen.Leave() // an error is seen at the next frame
	a.opts.Out.Write([]byte("\x1b[?1049h\x1b[H"))
	a.screen.Forget()
	a.viewer = &viewer{title: title, text: strings.Split(text, "\n")}
}

func (a *app) closeViewer() {
	a.viewer = nil
	a.screen.Leave() // as above
	a.opts.Out.Write([]byte("\x1b[?1049l"))
	a.screen.Forget()
}

func (w *viewer) lay(v view) {
	if w.width == v.width {
		return
	}
	w.width, w.shown = v.width, nil
	for _, l := range w.text {
		w.shown = append(w.shown, strings.Split(ansi.Hardwrap(visible(l), max(v.width, 8), true), "\n")...)
	}
}

func (w *viewer) lines(v view) []string {
	w.lay(v)
	room := max(v.height-1, 1)
	w.top = max(0, min(w.top, len(w.shown)-room))
	page := w.shown[w.top:min(w.top+room, len(w.shown))]
	lines := append([]string(nil), page...)
	for len(lines) < room {
		lines = append(lines, "")
	}
	return append(lines, v.paint.Dim.Of(fmt.Sprintf("%s · %d–%d of %d · up, down, page up, page down, home, end · q closes", visible(w.title), w.top+1, w.top+len(page), len(w.shown))))
}

// key scrolls, and reports whether the viewer is to be closed.
func (w *viewer) key(k key.Key, v view) bool {
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
	}
	return false
}
