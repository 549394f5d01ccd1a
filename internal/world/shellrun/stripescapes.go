package shellrun

import (
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// escapes matches terminal control: CSI sequences, OSC and its kin up to their
// terminator, two- and three-character escapes; the first two also as they begin
// with one C1 character.
var escapes = lazyregexp.New("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)?" +
	"|\x1b[ -/]*[0-~]")

// Clean makes output readable as plain text. It removes terminal escapes and control
// characters other than newline and tab, replaces bytes that are not valid UTF-8 by U+FFFD,
// and shows a carriage return within a line as ␍ and the end of a line. Of a line that was
// overwritten many times (a progress bar), it keeps the first and the last state, with …␍ between.
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

// maxReturns is how many carriage returns a line of data may have: more are a
// progress bar's.
const maxReturns = 8

// lastState plays what moves within a line. What comes before a carriage return may
// be data, such as the first column of a file with Windows line ends, so it is not
// dropped unseen.
func lastState(line string) string {
	var states []string
	for state := range strings.SplitSeq(line, "\r") {
		if state != "" {
			states = append(states, rubOut(state))
		}
	}
	switch n := len(states); {
	case n == 0:
		return ""
	case n > maxReturns+1:
		states = []string{states[0], "…", states[n-1]}
	}
	return strings.Join(states, "␍\n")
}

// rubOut plays backspaces: what follows one replaces the character before it.
func rubOut(line string) string {
	if !strings.Contains(line, "\b") {
		return line
	}
	var shown []rune
	at := 0
	for _, r := range line {
		switch {
		case r == '\b':
			at = max(at-1, 0)
		case isControl(r):
		default:
			if at == len(shown) {
				shown = append(shown, r)
			}
			shown[at] = r
			at++
		}
	}
	return string(shown)
}
