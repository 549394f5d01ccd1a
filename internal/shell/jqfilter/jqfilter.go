// Package jqfilter recognises jq filters that only see their input.
//
// It lexes a filter, string interpolations included, and refuses the names
// that reach the environment, other files or modules. It is safe for
// concurrent use.
package jqfilter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// Check returns nil if the filter only sees its input.
func Check(filter string) error {
	rest, err := lex(filter, 0)
	if err == nil && rest != "" {
		err = errors.New("an unbalanced bracket in the jq filter")
	}
	return err
}

// forbidden names reach beyond the input or never end.
var forbidden = []string{
	"env", "$ENV", "ENV", "input_filename", "import", "include", "modulemeta", "get_search_list", "$__prog_args",
	"infinite", "repeat", // never end
}

// maxDepth bounds nested interpolations.
const maxDepth = 50

var (
	number = lazyregexp.New(`^[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?`)
	field  = lazyregexp.New(`^\.[A-Za-z_][A-Za-z_0-9]*`)
	name   = lazyregexp.New(`^\$?(__)?[A-Za-z_][A-Za-z_0-9]*`)
)

// lex reads tokens up to the closing parenthesis of an interpolation, which
// it leaves, or the end.
func lex(s string, depth int) (string, error) {
	if depth > maxDepth {
		return "", errors.New("the jq filter is nested too deeply")
	}
	open := 0
	for s != "" {
		var err error
		switch c := s[0]; {
		case c == '"':
			if s, err = str(s[1:], depth); err != nil {
				return "", err
			}
		case c == '#':
			return "", errors.New("the jq filter has a comment")
		case strings.HasPrefix(s, ".."):
			s = s[2:]
		case field.MatchString(s):
			s = s[len(field.FindString(s)):]
		case name.MatchString(s):
			word := name.FindString(s)
			if slices.Contains(forbidden, word) {
				return "", fmt.Errorf("the jq filter uses %s", word)
			}
			s = s[len(word):]
		case number.MatchString(s):
			s = s[len(number.FindString(s)):]
		case c == '(':
			open, s = open+1, s[1:]
		case c == ')':
			if open == 0 {
				return s, nil
			}
			open, s = open-1, s[1:]
		case c >= 0x80 || c == '\\' || c == '\'' || c == '`':
			return "", fmt.Errorf("an unexpected %q in the jq filter", c)
		default:
			s = s[1:]
		}
	}
	return "", nil
}

// str reads the rest of a string and what it interpolates.
func str(s string, depth int) (string, error) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return s[i+1:], nil
		case strings.HasPrefix(s[i:], `\(`):
			rest, err := lex(s[i+2:], depth+1)
			if err != nil {
				return "", err
			}
			if !strings.HasPrefix(rest, ")") {
				return "", errors.New("an unterminated interpolation in the jq filter")
			}
			s, i = rest[1:], -1
		case s[i] == '\\':
			i++
		}
	}
	return "", errors.New("an unterminated string in the jq filter")
}
