package bash

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A translation turns the common core of sed's regular expressions, basic or
// extended, into ours.
type translation struct {
	extended bool

	groups int
	any    bool // something matches more than the characters that are written
}

// translate returns the pattern, or false for one outside the core.
func (t *translation) translate(re string) (string, bool) {
	var b strings.Builder
	depth := 0
	atom := false // a repetition may follow: a single character comes before
	for i := 0; i < len(re); {
		token, size, ok := t.token(re[i:])
		if !ok {
			return "", false
		}
		first, last := i == 0, i+size == len(re)
		i += size
		switch token {
		case "^":
			if !first {
				return "", false
			}
			b.WriteByte('^')
			atom = false
		case "$":
			if !last {
				return "", false
			}
			b.WriteByte('$')
			atom = false
		case "(":
			t.groups++
			depth++
			b.WriteByte('(')
			atom = false
		case ")":
			if depth--; depth < 0 {
				return "", false
			}
			b.WriteByte(')')
			atom = false
		case "*", "+", "?":
			if !atom {
				return "", false
			}
			b.WriteString(token)
			atom = false
		case ".":
			t.any = true
			b.WriteByte('.')
			atom = true
		default:
			if strings.HasPrefix(token, "[") {
				t.any = t.any || strings.HasPrefix(token, "[^")
				b.WriteString(token)
				atom = true
				break
			}
			char := token[1:] // after the mark of a literal
			b.WriteString(regexp.QuoteMeta(char))
			atom = len(char) == 1
		}
	}
	return b.String(), depth == 0
}

// token reads the next element: an operator by its name in extended
// expressions, a bracket expression, or "=" and a character.
func (t *translation) token(re string) (token string, size int, ok bool) {
	c := re[0]
	switch {
	case c == '[':
		return bracket(re)
	case c == '.' || c == '*' || c == '^' || c == '$':
		return string(c), 1, true
	case c == '\\':
		return t.escape(re)
	case strings.IndexByte("(){}+?|", c) >= 0:
		if !t.extended {
			return "=" + string(c), 1, true
		}
		return string(c), 1, c != '|' && c != '{' && c != '}'
	}
	_, n := utf8.DecodeRuneInString(re)
	return "=" + re[:n], n, true
}

func (t *translation) escape(re string) (string, int, bool) {
	if len(re) < 2 {
		return "", 0, false
	}
	c := re[1]
	switch {
	case c == 't':
		return "=\t", 2, true
	case strings.IndexByte("(){}+?|", c) >= 0:
		if t.extended {
			return "=" + string(c), 2, true
		}
		return string(c), 2, c != '|' && c != '{' && c != '}'
	case strings.IndexByte(`.*[]^$/\&-,:;"=@#%~!_`, c) >= 0:
		return "=" + string(c), 2, c != '_'
	}
	return "", 0, false
}

// bracket reads a bracket expression of plain characters and ranges of letters
// or digits.
func bracket(re string) (string, int, bool) {
	end := strings.IndexByte(re, ']')
	if end < 2 || re[1] == '^' && end < 3 { // a leading ] is a character there
		return "", 0, false
	}
	inner, negated := strings.CutPrefix(re[1:end], "^")
	var b strings.Builder
	b.WriteByte('[')
	if negated {
		b.WriteByte('^')
	}
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		if c >= utf8.RuneSelf || c == '\\' || c == '[' || c < ' ' {
			return "", 0, false
		}
		if i+2 < len(inner) && inner[i+1] == '-' {
			to := inner[i+2]
			if !isAlnum(c) || !isAlnum(to) || c > to || kind(c) != kind(to) {
				return "", 0, false
			}
			b.WriteString(inner[i : i+3])
			i += 2
			continue
		}
		if isAlnum(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(`\` + string(c))
		}
	}
	b.WriteByte(']')
	return b.String(), end + 1, true
}

func kind(c byte) int {
	switch {
	case c <= '9':
		return 0
	case c <= 'Z':
		return 1
	}
	return 2
}
