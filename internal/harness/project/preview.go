package project

import (
	"fmt"
)

// A PreviewMode says what becomes of commands that the rules leave open.
type PreviewMode string

const (
	// PreviewOff asks about the command.
	PreviewOff PreviewMode = "off"
	// PreviewAsk runs it where its changes do not count, and asks about these.
	PreviewAsk PreviewMode = "ask"
	// PreviewAuto runs it there, makes the changes that the rules allow, and drops the
	// others.
	PreviewAuto PreviewMode = "auto"
)

// parsePreview reads a mode; "" leaves it to who can be asked.
func parsePreview(s string) (PreviewMode, error) {
	switch m := PreviewMode(s); m {
	case "", PreviewOff, PreviewAsk, PreviewAuto:
		return m, nil
	}
	return "", fmt.Errorf("unknown preview mode %q: use off, ask or auto", s)
}
