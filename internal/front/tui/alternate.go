package tui

import "strings"

// HasAlternate reports whether the terminal that the environment tells of has an alternate
// screen. The Linux console has none, and GNU screen has one only if its user asks for it. Both
// ignore the sequence, and what is drawn would overwrite the conversation.
func HasAlternate(getenv func(string) string) bool {
	term := getenv("TERM")
	return term != "linux" && getenv("STY") == "" && (getenv("TMUX") != "" || !strings.HasPrefix(term, "screen"))
}

// switchScreen goes to the alternate screen or back. When a window shrinks, terminals push
// what no longer fits into the scrollback, where it could never be erased; from the
// alternate screen they push nothing. So everything that may fill the screen is drawn there.
func (a *app) switchScreen(alternate bool) {
	if a.apart == alternate {
		return
	}
	a.screen.Leave() // an error is seen at the next frame
	modes := "\x1b[?1049l"
	if alternate {
		modes = "\x1b[?1049h\x1b[H"
	}
	a.opts.Out.Write([]byte(modes))
	a.screen.Forget()
	a.apart = alternate
}

// scrolled returns the lines that go into the scrollback with this frame. On the alternate
// screen they wait.
func (a *app) scrolled(v view) []string {
	if a.apart {
		return nil
	}
	lines := a.show.finished(v)
	a.recent = append(a.recent, lines...)
	a.recent = a.recent[max(len(a.recent)-v.height, 0):]
	return lines
}
