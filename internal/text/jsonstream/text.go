package jsonstream

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text is the string in flight, a key or a value.
type text struct {
	strings.Builder // the decoded text; its String shares memory and costs nothing

	begin  int  // where its opening quote stands
	key    bool // between the quotes of a key
	decode bool // keys and top-level values are decoded, nested values only checked

	mark   int  // where the escape or the rune in hand begins
	left   int  // hex digits or continuation bytes still to come
	code   rune // the \u escape in hand
	high   rune // the high surrogate that waits for its low one, or zero
	lo, hi byte // the range of the next continuation byte
}

func (t *text) write(p []byte) {
	if t.decode {
		t.Write(p)
	}
}

func (t *text) writeRune(r rune) {
	if t.decode {
		t.WriteRune(r)
	}
}

func (m *machine) beginText(key bool) {
	m.text.begin, m.text.key = m.pos, key
	m.text.decode = key || !m.nested()
	if m.text.decode {
		m.text.Reset()
	}
	if m.text.decode && !key {
		m.text.Grow(64) // values come in pieces too small to grow by
	}
	m.state = inText
}

func (m *machine) endText() {
	if m.text.key {
		m.endKey()
		return
	}
	m.endValue(m.pos + 1)
}

// endKey takes the text just read as the name of the field to come.
func (m *machine) endKey() {
	name := m.text.String()
	if !m.top().keys.add(name) {
		m.failDuplicate(name)
		return
	}
	m.text.key = false
	m.state = atColon
	if !m.nested() {
		m.value = 0
	}
}

func (m *machine) textByte(c byte) {
	switch {
	case c == '"':
		m.endText()
	case c == '\\':
		m.text.mark = m.pos
		m.state = inEscape
	case c < ' ':
		m.failControl(c)
	default:
		m.beginRune(c)
	}
}

func (m *machine) failControl(c byte) {
	advice := fmt.Sprintf(`Write it as \u%04x.`, c)
	switch c {
	case '\n':
		advice = `Write a line break inside a string as \n.`
	case '\r':
		advice = `Write a carriage return inside a string as \r.`
	case '\t':
		advice = `Write a tab inside a string as \t.`
	}
	m.failHere(Malformed, "control characters must be escaped in "+m.stringPlace(), advice)
}

// beginRune takes the first byte of a rune of several, by table 3-7 of the Unicode
// standard: the first byte says how many follow and narrows the range of the second.
func (m *machine) beginRune(c byte) {
	t := &m.text
	t.mark, t.lo, t.hi = m.pos, 0x80, 0xBF
	switch {
	case 0xC2 <= c && c <= 0xDF:
		t.left = 1
	case 0xE0 <= c && c <= 0xEF:
		t.left = 2
	case 0xF0 <= c && c <= 0xF4:
		t.left = 3
	default:
		m.failUTF8()
		return
	}
	switch c {
	case 0xE0: // below is overlong
		t.lo = 0xA0
	case 0xED: // above are the surrogates
		t.hi = 0x9F
	case 0xF0: // below is overlong
		t.lo = 0x90
	case 0xF4: // above is beyond U+10FFFF
		t.hi = 0x8F
	}
	m.state = inRune
}

func (m *machine) continuation(c byte) {
	t := &m.text
	if c < t.lo || t.hi < c {
		m.failUTF8()
		return
	}
	t.lo, t.hi = 0x80, 0xBF
	if t.left--; t.left == 0 {
		t.write(m.raw[t.mark : m.pos+1])
		m.state = inText
	}
}

// escapes are the single letters after '\' and what they stand for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (m *machine) escape(c byte) {
	switch {
	case c == 'u':
		m.beginHex()
	case escapes[c] != 0:
		m.text.writeRune(rune(escapes[c]))
		m.state = inText
	default:
		m.failEscape()
	}
}

func (m *machine) failEscape() {
	m.failHere(Malformed, `expected one of "\/bfnrtu after '\' in `+m.stringPlace(), `Write a backslash that is part of the text as \\.`)
}

func (m *machine) beginHex() {
	m.text.left, m.text.code = 4, 0
	m.state = inHex
}

func (m *machine) hex(c byte) {
	t := &m.text
	switch {
	case '0' <= c && c <= '9':
		t.code = t.code<<4 | rune(c-'0')
	case 'a' <= c && c <= 'f':
		t.code = t.code<<4 | rune(c-'a'+10)
	case 'A' <= c && c <= 'F':
		t.code = t.code<<4 | rune(c-'A'+10)
	default:
		m.failHex()
		return
	}
	if t.left--; t.left == 0 {
		m.endHex()
	}
}

func (m *machine) failHex() {
	m.failHere(Malformed, `expected four hexadecimal digits after '\u' in `+m.stringPlace(),
		`Write the character itself, or \u and four digits; write a backslash that is part of the text as \\.`)
}

func (m *machine) endHex() {
	t := &m.text
	switch {
	case t.high != 0:
		pair := utf16.DecodeRune(t.high, t.code)
		if pair == utf8.RuneError {
			m.failSurrogate()
			return
		}
		t.high = 0
		t.writeRune(pair)
		m.state = inText
	case !utf16.IsSurrogate(t.code):
		t.writeRune(t.code)
		m.state = inText
	case t.code < 0xDC00:
		t.high = t.code
		m.state = atLow
	default:
		m.failSurrogate()
	}
}

func (m *machine) low(c byte) {
	if c != '\\' {
		m.failSurrogate()
		return
	}
	m.state = atLowEscape
}

func (m *machine) lowEscape(c byte) {
	if c != 'u' {
		m.failSurrogate()
		return
	}
	m.beginHex()
}
