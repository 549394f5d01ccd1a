package bash

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A substitution is sed's s command, as far as it means exactly the same here
// as in GNU sed in any locale. Anything else is not recognised: alternations,
// intervals, classes by name, backslash classes, patterns that can match
// nothing.
type substitution struct {
	file string

	greedy, longest *regexp.Regexp // see replaceLine
	with            []piece
	all             bool
	ascii           bool // holds for text of ASCII only, since locales differ in the rest
}

// A piece of a replacement is text or, if group is not negative, what a group
// matched; group 0 is the whole match.
type piece struct {
	text  string
	group int
}

const plainDelimiters = "/,:@%~=_|"

// parseSubstitution reads s/regex/replacement/flags.
func parseSubstitution(script string, extended bool) (substitution, bool) {
	if len(script) < 4 || script[0] != 's' || strings.IndexByte(plainDelimiters, script[1]) < 0 || strings.Contains(script, "\n") {
		return substitution{}, false
	}
	fields, ok := splitScript(script[2:], script[1])
	if !ok {
		return substitution{}, false
	}
	s := substitution{}
	var fold bool
	for _, flag := range fields[2] {
		switch {
		case flag == 'g' && !s.all:
			s.all = true
		case (flag == 'i' || flag == 'I') && !fold:
			fold = true
		default:
			return substitution{}, false
		}
	}
	t := translation{extended: extended}
	pattern, ok := t.translate(fields[0])
	if !ok {
		return substitution{}, false
	}
	if fold {
		pattern = "(?i)" + pattern
	}
	s.ascii = t.any || fold
	if s.with, ok = parseReplacement(fields[1], t.groups); !ok {
		return substitution{}, false
	}
	var err error
	if s.greedy, err = regexp.Compile(pattern); err != nil || s.greedy.MatchString("") {
		return substitution{}, false
	}
	s.longest = regexp.MustCompile(pattern)
	s.longest.Longest()
	return s, true
}

// splitScript splits at unescaped delimiters; an escaped one is the character
// itself.
func splitScript(body string, delimiter byte) (fields [3]string, ok bool) {
	var b strings.Builder
	n := 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '\\' && i+1 < len(body):
			i++
			if body[i] != delimiter {
				b.WriteByte('\\')
			} else if n == 0 && delimiter == '|' {
				return fields, false // sed versions differ on what it means then
			}
			b.WriteByte(body[i])
		case c == '[' && n == 0:
			// A delimiter within brackets still ends the field in sed; too
			// subtle to be worth it.
			end := strings.IndexByte(body[i:], ']')
			if end < 0 || strings.IndexByte(body[i:i+end], delimiter) >= 0 {
				return fields, false
			}
			b.WriteByte(c)
		case c == delimiter:
			if n == 2 {
				return fields, false
			}
			fields[n] = b.String()
			b.Reset()
			n++
		default:
			b.WriteByte(c)
		}
	}
	fields[2] = b.String()
	return fields, n == 2
}

// parseReplacement reads a replacement for a pattern with so many groups.
func parseReplacement(s string, groups int) ([]piece, bool) {
	var pieces []piece
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			pieces = append(pieces, piece{text: text.String(), group: -1})
			text.Reset()
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '&' {
			flush()
			pieces = append(pieces, piece{group: 0})
			continue
		}
		if c != '\\' {
			text.WriteByte(c)
			continue
		}
		if i++; i == len(s) {
			return nil, false
		}
		switch c = s[i]; {
		case c >= '1' && c <= '9':
			if int(c-'0') > groups {
				return nil, false
			}
			flush()
			pieces = append(pieces, piece{group: int(c - '0')})
		case c == 'n':
			text.WriteByte('\n')
		case c == 't':
			text.WriteByte('\t')
		case c == '&' || c < utf8.RuneSelf && !isAlnum(c) && c > ' ':
			text.WriteByte(c)
		default:
			return nil, false
		}
	}
	flush()
	return pieces, true
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

var errInexact = errors.New("the result of sed cannot be predicted here")

// apply makes the substitution on every line of a text.
func (s substitution) apply(text string) (string, error) {
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") || s.ascii && !isASCII(text) {
		return "", errInexact
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, newline := strings.CutSuffix(line, "\n")
		done, ok := s.replaceLine(body)
		if !ok {
			return "", errInexact
		}
		b.WriteString(done)
		if newline {
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// replaceLine replaces the first match in a line, or all. sed takes the longest
// of the leftmost matches, this package's regular expressions the first of
// them; where the two are the same, so are the groups.
func (s substitution) replaceLine(line string) (string, bool) {
	most := 1
	if s.all {
		most = -1
	}
	greedy := s.greedy.FindAllStringSubmatchIndex(line, most)
	longest := s.longest.FindAllStringIndex(line, most)
	if len(greedy) != len(longest) {
		return "", false
	}
	var b strings.Builder
	at := 0
	for i, match := range greedy {
		if match[0] != longest[i][0] || match[1] != longest[i][1] {
			return "", false
		}
		b.WriteString(line[at:match[0]])
		for _, p := range s.with {
			if p.group < 0 {
				b.WriteString(p.text)
			} else {
				b.WriteString(line[match[2*p.group]:match[2*p.group+1]])
			}
		}
		at = match[1]
	}
	return b.String() + line[at:], true
}
