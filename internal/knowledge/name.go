package knowledge

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is how long a name may be, in characters.
const maxName = 64

// ValidName reports whether a name, or a part of one between colons, can be used
// in rules, on command lines and in listings: letters, digits, dots, dashes and
// underscores, not beginning with a dot or a dash. A regular expression of this
// takes milliseconds to compile, at every start.
func ValidName(name string) bool {
	length := 0
	for _, r := range name {
		plain := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if !plain && (length == 0 || r != '.' && r != '-') {
			return false
		}
		length++
	}
	return length > 0 && length <= maxName
}

// validTitle reports whether a name can be shown and chosen from a list, but not typed
// into rules: words with single spaces between them.
func validTitle(name string) bool {
	for word := range strings.SplitSeq(name, " ") {
		if !ValidName(word) {
			return false
		}
	}
	return utf8.RuneCountInString(name) <= maxName
}
