package tui

import (
	"strings"

	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
)

// Notification is what has a terminal show a notification of the desktop: kitty knows OSC 99,
// ghostty and those like rxvt OSC 777, and others OSC 9.
func Notification(text string, getenv func(string) string) string {
	text = shorten.Line(visible.Cells(text), 200)
	program, term := strings.ToLower(getenv("TERM_PROGRAM")), getenv("TERM")
	said := "9;" + text
	switch {
	case getenv("KITTY_WINDOW_ID") != "" || strings.Contains(term, "kitty"):
		said = "99;;" + text
	case program == "ghostty" || program == "wezterm" || strings.HasPrefix(term, "rxvt") || strings.HasPrefix(term, "foot"):
		said = "777;notify;haft;" + strings.ReplaceAll(text, ";", ",")
	}
	said = "\x1b]" + said + "\x1b\\"
	if getenv("TMUX") != "" { // which passes on what it does not know itself
		said = "\x1bPtmux;" + strings.ReplaceAll(said, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	return said
}
