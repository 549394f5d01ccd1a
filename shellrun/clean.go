package shellrun

import (
	"regexp"
	"strings"
)

// escapes matches terminal control: CSI sequences, OSC and its kin up to their
// terminator, two- and three-character escapes; the first two also as they begin
// with one C1 character.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)?" +
	"|\x1b[ -/]*[0-~]")

// Clean makes output readable as plain text: terminal escapes go, of a line
// that was overwritten (a progress bar) the last state stays, bytes that are no
// UTF-8 become U+FFFD, and control characters other than newline and tab go.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	s = escapes.ReplaceAllString(s, "")
	if strings.ContainsAny(s, "\r\b") {
		lines := strings.Split(s, "\n")
		for i, line := range lines {
			lines[i] = lastState(line)
		}
		s = strings.Join(lines, "\n")
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, s)
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0
}

// lastState plays what moves within a line: what follows a carriage return
// replaces the line so far, what follows a backspace the character before it.
func lastState(line string) string {
	if !strings.ContainsAny(line, "\r\b") {
		return line
	}
	var shown []rune
	at, returned := 0, false
	for _, r := range line {
		switch {
		case r == '\r':
			returned = true
		case r == '\b':
			at = max(at-1, 0)
		case isControl(r):
		default:
			if returned {
				shown, at, returned = shown[:0], 0, false
			}
			if at == len(shown) {
				shown = append(shown, r)
			}
			shown[at] = r
			at++
		}
	}
	return string(shown)
}
