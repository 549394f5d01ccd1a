package tui

import (
	"strings"

	"github.com/haftdev/haft/internal/front/tui/key"
)

// A selection is one of a few answers, or none of them. A key that means nothing here
// clears it: whoever pressed it had another question in mind, and enter must not answer
// this one.
type selection struct {
	at int // none: -1
	n  int
}

// none is the selection of nothing among n answers.
func none(n int) selection { return selection{-1, n} }

// lit is what is selected, nil for nothing; see [chooser].
func (s selection) lit() any {
	if !s.made() {
		return nil
	}
	return s.at
}

// made reports whether something is selected.
func (s selection) made() bool { return s.at >= 0 }

// key moves the selection. It reports false for keys that do not, and one that writes
// something clears it.
func (s *selection) key(k key.Key) bool {
	switch {
	case k.Name == key.Up && !s.made():
		s.at = s.n - 1
	case k.Name == key.Up:
		s.at = max(s.at-1, 0)
	case k.Name == key.Down:
		s.at = min(s.at+1, s.n-1)
	case !k.Writes():
		return false
	case k.Rune >= '1' && int(k.Rune-'1') < s.n:
		s.at = int(k.Rune - '1')
	default:
		s.at = -1
		return false
	}
	return true
}

// take selects what a typed text means: the letter of an answer, yes and no, or a number.
// It answers nothing.
func (s *selection) take(text string, letters string) bool {
	text = strings.ToLower(text)
	switch text {
	case "yes", "no":
		text = text[:1]
	}
	if len(text) != 1 {
		return false
	}
	at := strings.Index(letters, text)
	if n := int(text[0]) - '1'; at < 0 && n >= 0 && n < s.n {
		at = n
	}
	if at < 0 {
		return false
	}
	s.at = at
	return true
}
