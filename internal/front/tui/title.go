package tui

import (
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/text/visible"
)

// retitle names the terminal's window: the folder, and whether haft works or waits for the
// user. It is written when it has changed.
func (a *app) retitle() {
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
