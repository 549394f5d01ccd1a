package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/near"
)

// A Mode is how a session treats calls that the rules leave open.
type Mode string

const (
	// Default asks for everything that is not read-only.
	Default Mode = "default"
	// AcceptEdits allows edits inside the project.
	AcceptEdits Mode = "acceptEdits"
	// Plan denies everything that writes.
	Plan Mode = "plan"
	// Auto asks a classifier before the user.
	Auto Mode = "auto"
	// DontAsk denies what would be asked about.
	DontAsk Mode = "dontAsk"
	// Bypass allows everything that no rule and no circuit breaker stops.
	Bypass Mode = "bypassPermissions"
)

// Modes are all modes, the strictest first.
func Modes() []Mode { return []Mode{Plan, DontAsk, Default, AcceptEdits, Auto, Bypass} }

// stricter reports whether a mode is known and more careful than another.
func (m Mode) stricter(than Mode) bool {
	i := slices.Index(Modes(), m)
	return i >= 0 && i < slices.Index(Modes(), than)
}

// Stricter returns the more careful of two modes; an unknown mode is ignored.
func Stricter(a, b Mode) Mode {
	if b.stricter(a) || !slices.Contains(Modes(), a) {
		return b
	}
	return a
}

// ParseMode reads a mode; "" is Default.
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return Default, nil
	}
	var names []string
	for _, m := range Modes() {
		if string(m) == s {
			return m, nil
		}
		names = append(names, string(m))
	}
	last := len(names) - 1
	text := fmt.Sprintf("unknown permission mode %q: use %s or %s", s, strings.Join(names[:last], ", "), names[last])
	if hint := near.Hint(s, names); hint != "" {
		text += "." + hint
	}
	return "", errors.New(text)
}
