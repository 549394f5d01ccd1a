package shellrun

import (
	"regexp"
	"strings"
)

// escapes matches terminal control: CSI sequences, OSC and its kin up to their
// terminator, two- and three-character escapes.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// Clean makes output readable as plain text: terminal escapes go, of a line
// that was overwritten (a progress bar) the last state stays, bytes that are no
// UTF-8 become U+FFFD, and control characters other than newline and tab go.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	s = escapes.ReplaceAllString(s, "")
	if strings.Contains(s, "\r") {
		s = lastStates(s)
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, s)
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
}

// lastStates plays carriage returns: what follows one replaces the line so far,
// if anything follows.
func lastStates(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}
