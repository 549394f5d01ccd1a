package glob

import (
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	anyDirs  kind = iota // **
	literal              // text
	suffix               // *text
	prefix               // text*
	contains             // *text*
	general              // anything else, by backtracking
)

// segment matches one element of a path.
type segment struct {
	kind  kind
	text  string // literal text, or the pattern if general
	fold  bool
	bytes bool
	must  string // general: what a name must contain
	first byte   // general: what a name must start and end with; 0 if not known
	last  byte
}

func newSegment(p string, o *Options) segment {
	s := segment{kind: general, text: p, fold: o.Fold, bytes: o.Bytes}
	if p == "**" {
		s.kind = anyDirs
		return s
	}
	if o.Fold {
		return s
	}
	for strings.Contains(p, "**") { // inside a name, two stars are one
		p = strings.ReplaceAll(p, "**", "*")
	}
	s.text = p
	if strings.ContainsAny(p, `?[\`) {
		s.first, s.last = ends(p)
		s.must = inner(p)
		return s
	}
	if !utf8.ValidString(p) && !s.bytes {
		return s // as bytes it could match a part of a character
	}
	switch stars := strings.Count(p, "*"); {
	case stars == 0:
		s.kind = literal
	case stars == 1 && p[0] == '*':
		s.kind, s.text = suffix, p[1:]
	case stars == 1 && p[len(p)-1] == '*':
		s.kind, s.text = prefix, p[:len(p)-1]
	case stars == 2 && p[0] == '*' && p[len(p)-1] == '*':
		s.kind, s.text = contains, p[1:len(p)-1]
	default:
		s.first, s.last = ends(p)
		s.must = inner(p)
	}
	return s
}

// inner gives the longest text that every match of p contains.
func inner(p string) string {
	best, start := "", 0
	take := func(end int) {
		if end-start > len(best) {
			best = p[start:end]
		}
	}
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\', '[': // what follows needs reading: leave the rest aside
			take(i)
			return best
		case '*', '?':
			take(i)
			start = i + 1
		}
	}
	take(len(p))
	return best
}

// ends gives the literal bytes that p starts and ends with, so that most names can
// be told apart at a glance.
func ends(p string) (first, last byte) {
	if !strings.ContainsRune(`*?[\`, rune(p[0])) {
		first = p[0]
	}
	if n := len(p) - 1; p[n] < utf8.RuneSelf && !strings.ContainsRune(`*?]\`, rune(p[n])) && (n == 0 || p[n-1] != '\\') {
		last = p[n]
	}
	return first, last
}

func (s *segment) match(name string) bool {
	switch s.kind {
	case literal:
		return name == s.text
	case suffix:
		return strings.HasSuffix(name, s.text)
	case prefix:
		return strings.HasPrefix(name, s.text)
	case contains:
		return strings.Contains(name, s.text)
	case anyDirs:
		return true
	}
	if s.first != 0 && (name == "" || name[0] != s.first) || s.last != 0 && (name == "" || name[len(name)-1] != s.last) {
		return false
	}
	return strings.Contains(name, s.must) && s.backtrack(name)
}

// backtrack is the usual two-pointer match: on failure it returns to the last star
// and lets that take one character more.
func (s *segment) backtrack(name string) bool {
	p := s.text
	star, retry := -1, 0
	i, j := 0, 0 // in p and in name
	for j < len(name) || i < len(p) {
		if i < len(p) && p[i] == '*' {
			star, retry = i, j
			i++
			continue
		}
		if i < len(p) && j < len(name) {
			r, size := s.char(name[j:])
			if n, ok := s.one(p[i:], r); ok {
				i += n
				j += size
				continue
			}
		}
		if star < 0 || retry >= len(name) {
			return false
		}
		_, size := s.char(name[retry:])
		retry += size
		i, j = star+1, retry
	}
	return true
}

func (s *segment) char(name string) (rune, int) {
	if s.bytes || name[0] < utf8.RuneSelf {
		return rune(name[0]), 1
	}
	r, n := utf8.DecodeRuneInString(name)
	if r == utf8.RuneError && n == 1 {
		return badByte | rune(name[0]), 1
	}
	return r, n
}

// badByte marks a byte that is no UTF-8, so that it equals only itself.
const badByte = 1 << 24

// one matches r against the first element of p and gives that element's length.
func (s *segment) one(p string, r rune) (n int, ok bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		if n, ok, closed := s.class(p, r); closed || s.bytes {
			return n, ok // to git an unclosed class matches nothing
		}
	case '\\':
		if len(p) > 1 {
			c, size := s.char(p[1:])
			return 1 + size, s.same(c, r)
		}
		if s.bytes {
			return 0, false
		}
	}
	c, size := s.char(p)
	return size, s.same(c, r)
}

func (s *segment) same(a, b rune) bool {
	return a == b || s.fold && lower(a) == lower(b)
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 32
	}
	return r
}

// class matches r against the bracket expression that p starts with. An expression
// without an end is no class.
func (s *segment) class(p string, r rune) (n int, ok, closed bool) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(p); first = false {
		if p[i] == ']' && !first {
			return i + 1, ok != negated, true
		}
		if strings.HasPrefix(p[i:], "[:") {
			if end := strings.Index(p[i:], ":]"); end >= len("[:") {
				ok = ok || posix(p[i+2:i+end], r)
				i += end + 2
				continue
			}
		}
		lo, size, good := s.classChar(p[i:])
		if !good {
			break
		}
		i += size
		hi := lo
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			if hi, size, good = s.classChar(p[i+1:]); !good {
				break
			}
			i += 1 + size
		}
		ok = ok || lo <= r && r <= hi || s.fold && (lo <= lower(r) && lower(r) <= hi || lo <= upper(r) && upper(r) <= hi)
	}
	return 0, false, false
}

func upper(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r - 32
	}
	return r
}

func (s *segment) classChar(p string) (r rune, n int, ok bool) {
	if p[0] != '\\' {
		r, n = s.char(p)
		return r, n, true
	}
	if len(p) == 1 {
		return 0, 0, false
	}
	r, n = s.char(p[1:])
	return r, n + 1, true
}

func posix(name string, r rune) bool {
	alpha := 'a' <= lower(r) && lower(r) <= 'z'
	digit := '0' <= r && r <= '9'
	graph := '!' <= r && r <= '~'
	switch name {
	case "alpha":
		return alpha
	case "digit":
		return digit
	case "alnum":
		return alpha || digit
	case "upper":
		return alpha && r < 'a'
	case "lower":
		return alpha && r >= 'a'
	case "space":
		return r == ' ' || '\t' <= r && r <= '\r'
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return graph && !alpha && !digit
	case "graph":
		return graph
	case "print":
		return graph || r == ' '
	case "cntrl":
		return r < ' ' || r == 127
	case "xdigit":
		return digit || 'a' <= lower(r) && lower(r) <= 'f'
	}
	return false
}
