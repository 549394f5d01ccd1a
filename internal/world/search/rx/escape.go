package rx

import (
	"strconv"
	"strings"
	"unicode"
)

func (p *parser) lookEscape(at int) (look, bool) {
	if !p.more() {
		return 0, false
	}
	switch p.src[p.pos] {
	case 'A':
		p.pos++
		return p.whole(lookTextStart, lookLineStart), true
	case 'z':
		p.pos++
		return p.whole(lookTextEnd, lookLineEnd), true
	case 'B':
		p.pos++
		return p.boundary(lookNotWord, lookASCIINotWord), true
	case '<':
		p.pos++
		return lookWordStart, true
	case '>':
		p.pos++
		return lookWordEnd, true
	case 'b':
		p.pos++
		return p.wordEscape(at), true
	}
	return 0, false
}

// whole picks the text assertion, or the line one where lines are all there is.
func (p *parser) whole(text, line look) look {
	if p.lineMode {
		return line
	}
	return text
}

func (p *parser) boundary(unicode, ascii look) look {
	if p.flags.ascii {
		return ascii
	}
	return unicode
}

func (p *parser) wordEscape(at int) look {
	if !p.looking("{") {
		return p.boundary(lookWord, lookASCIIWord)
	}
	for name, l := range map[string]look{
		"{start}": lookWordStart, "{end}": lookWordEnd,
		"{start-half}": lookHalfStart, "{end-half}": lookHalfEnd,
	} {
		if p.accept(name) {
			return l
		}
	}
	if _, _, n := p.counts(); n == 0 {
		p.fail(at, "unknown word boundary", `Use \b, \b{start} or \b{end}.`)
	}
	return p.boundary(lookWord, lookASCIIWord)
}

// classEscape reads \d \s \w \pX and their negations, valid in and out of a class.
func (p *parser) classEscape(at int) (set, bool) {
	if !p.more() {
		return nil, false
	}
	c := p.src[p.pos]
	var s set
	switch c {
	case 'd', 'D':
		s = p.perl(digitSet, asciiDigit)
	case 's', 'S':
		s = p.perl(spaceSet, asciiSpace)
	case 'w', 'W':
		s = p.perl(wordSet, asciiWord)
	case 'p', 'P':
		p.pos++
		return p.property(at, c == 'P'), true
	default:
		return nil, false
	}
	p.pos++
	if c < 'a' {
		s = s.negate(p.top())
	}
	return s, true
}

// top is the largest member a class may have.
func (p *parser) top() rune {
	if p.flags.ascii {
		return 255
	}
	return unicode.MaxRune
}

func (p *parser) perl(full func() set, ascii set) set {
	if p.flags.ascii {
		return ascii
	}
	return full()
}

func (p *parser) property(at int, negated bool) set {
	name := ""
	if p.accept("{") {
		end := strings.IndexByte(p.rest(), '}')
		if end < 0 {
			p.fail(at, "unclosed property name", "")
		}
		name = p.rest()[:end]
		p.pos += end + 1
	} else if p.more() {
		name = string(p.next())
	}
	s, ok := property(name)
	if !ok {
		p.fail(at, "unknown Unicode property", `Use a category such as \p{Lu} or a script such as \p{Greek}.`)
	}
	s = p.folded(s)
	if negated {
		s = s.negate(unicode.MaxRune)
	}
	return s
}

// charEscape reads an escape that stands for one character. isByte reports \xNN,
// which is a raw byte under (?-u).
func (p *parser) charEscape(at int) (r rune, isByte bool) {
	if !p.more() {
		p.fail(at, "trailing backslash", `Write \\ for a literal backslash.`)
	}
	switch r = p.next(); r {
	case 'a':
		return '\a', false
	case 'f':
		return '\f', false
	case 't':
		return '\t', false
	case 'n':
		return '\n', false
	case 'r':
		return '\r', false
	case 'v':
		return '\v', false
	case 'x':
		return p.hex(at, 2)
	case 'u':
		r, _ = p.hex(at, 4)
		return r, false
	case 'U':
		r, _ = p.hex(at, 8)
		return r, false
	}
	switch {
	case '1' <= r && r <= '9' || r == '0':
		p.fail(at, "back-reference", "Back-references are not supported (nor in ripgrep by default): spell out the repeated text.")
	case r >= 128, r < ' ', isWordByte(byte(r)) && r != '_':
		p.fail(at, "unknown escape", `Write \\ for a literal backslash.`)
	}
	return r, false
}

func (p *parser) hex(at, digits int) (r rune, isByte bool) {
	text := ""
	if p.accept("{") {
		end := strings.IndexByte(p.rest(), '}')
		if end < 0 {
			p.fail(at, "unclosed hexadecimal escape", "")
		}
		text = p.rest()[:end]
		p.pos += end + 1
	} else if len(p.rest()) >= digits {
		text = p.rest()[:digits]
		p.pos += digits
		isByte = digits == 2
	}
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil || v > unicode.MaxRune || 0xD800 <= v && v < 0xE000 {
		p.fail(at, "bad hexadecimal escape", `Write it as \x{41}.`)
	}
	return rune(v), isByte
}
