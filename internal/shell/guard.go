package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// maxBytes is the longest command that may be read-only or allowed by a rule. A longer one, which
// mostly writes a file, is still read for rules that deny, up to maxParsed: what Linux passes to
// a program in one argument, and what the parser reads in less than a second whatever it is.
const (
	maxBytes  = 10_000
	maxParsed = 128 << 10
)

// maxOpen bounds brackets that are open at once: the parser and the walk
// recurse, and no honest command nests this deep.
const maxOpen = 200

// commentBackslash finds a comment that ends in a backslash: bash ends it
// there, the parser joins the next line.
var commentBackslash = lazyregexp.New("(?m)(^|[\\s;&|()<>`{}])#.*\\\\$")

// guard returns why a command is neither read-only nor exact, whatever it says; "" if it may be.
func guard(command string) string {
	switch {
	case len(command) > maxBytes:
		return fmt.Sprintf("the command is longer than %d bytes", maxBytes)
	case !utf8.ValidString(command):
		return "the command is not valid UTF-8"
	case strings.ContainsFunc(command, isControl):
		return "the command contains a control character"
	case hidesText(command):
		return "the command contains an invisible or look-alike blank character"
	case commentBackslash.MatchString(command):
		return "a comment ends in a backslash"
	case strings.Count(command, "(")+strings.Count(command, "{")+strings.Count(command, "`") > maxOpen:
		return "the command is nested too deeply"
	case hidesByBlanks(command):
		return "part of the command is far off screen"
	}
	return ""
}

// parseable reports whether the parser reads a command as bash does, and in little time.
func parseable(command string) bool {
	return len(command) <= maxParsed && utf8.ValidString(command) && !strings.ContainsFunc(command, isControl) &&
		!commentBackslash.MatchString(command) && deepest(command) <= maxOpen
}

// deepest returns how many brackets are open at once, those in text included.
func deepest(command string) int {
	open, most := 0, 0
	for i := range len(command) {
		switch command[i] {
		case '(', '{':
			open++
			most = max(most, open)
		case ')', '}':
			open = max(open-1, 0)
		}
	}
	return most
}

func isControl(r rune) bool { return (r < ' ' && r != '\t' && r != '\n') || r == 0x7f }

func hidesText(command string) bool { return strings.ContainsFunc(command, isInvisible) }

// isInvisible reports whether a rune is not shown, is shown as a blank, or
// turns the text around it.
func isInvisible(r rune) bool {
	return r >= 0x80 && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Z, r) || unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Co, r) ||
		unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r))
}

// offScreen finds a run of blanks so long that what follows is not seen.
var offScreen = lazyregexp.New(`[ \t]{80,}\S|\n[ \t\n]{20,}\S`)

func hidesByBlanks(command string) bool { return offScreen.MatchString(command) }
