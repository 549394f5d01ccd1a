package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/visible"
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

// A viewer shows a text on the whole screen, the terminal's other one, so that the
// scrollback stays as it is.
type viewer struct {
	title string
	text  []string // raw lines
	width int      // that shown is laid out for
	shown []string
	top   int
	end   func() // called when the last line is on the screen; may be nil
}

// openText shows a text, with every escape in it made visible.
func (a *app) openText(title, text string) {
	a.screen.Leave() // an error is seen at the next frame
	a.opts.Out.Write([]byte("\x1b[?1049h\x1b[H"))
	a.screen.Forget()
	a.viewer = &viewer{title: title, text: strings.Split(text, "\n")}
}

func (w *viewer) lay(v view) {
	if w.width == v.width {
		return
	}
	w.width, w.shown = v.width, nil
	for _, l := range w.text {
		w.shown = append(w.shown, strings.Split(ansi.Hardwrap(visible.Cells(l), max(v.width, 8), true), "\n")...)
	}
}
