package jsonstream

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A state says what the machine will do with the next byte.
type state uint8

const (
	atStart        state = iota // before the outermost '{'
	atFirstKey                  // after '{'
	atKey                       // after ',' in an object
	atColon                     // after a key
	atValue                     // after ':', or after ',' in an array
	atFirstElement              // after '['
	afterValue                  // before ',' or the closing bracket
	atEnd                       // after the outermost '}'

	inText      // between the quotes of a string
	inEscape    // after '\'
	inHex       // in the four digits after '\u'
	atLow       // after a high surrogate, before '\'
	atLowEscape // after a high surrogate and '\', before 'u'
	inRune      // in a rune of several bytes

	inMinus        // after '-'
	inZero         // after a leading 0
	inInteger      // after a leading 1-9
	inPoint        // after '.'
	inFraction     // after a digit behind '.'
	inExponent     // after 'e'
	inExponentSign // after the sign behind 'e'
	inPower        // after a digit behind 'e'

	inLiteral // in true, false or null
)

// A machine reads raw one byte at a time. It stops at the first fault with its
// state as it was, from which the error text is made.
type machine struct {
	raw      []byte
	pos      int // of the next byte to read
	state    state
	stack    []frame // the open objects and arrays; the outermost is never popped
	maxDepth int

	whole span // the outermost object, once it has ended

	text    text   // the string in flight
	literal string // what is left of the literal in flight

	err        *Error
	unexpected bool // err is about the very byte at err.Offset
}

// A span is a range of raw.
type span struct{ start, end int }

// A frame is an open object or array.
type frame struct {
	object bool
	keys   keySet // of an object
	index  int    // of the current element of an array
}

func (m *machine) top() *frame  { return &m.stack[len(m.stack)-1] }
func (m *machine) nested() bool { return len(m.stack) > 1 }

func (m *machine) start(c byte) {
	switch {
	case isSpace(c):
	case c == '{':
		m.whole.start = m.pos
		m.state = atFirstKey
	default:
		m.failNotObject(c)
	}
}

func (m *machine) failNotObject(c byte) {
	m.failHere(NotObject, "expected one JSON object",
		`Send the fields as one object such as {"file_path": "/a"}, not wrapped in an array, a string or other text.`)
	switch {
	case c == '[':
		m.err.Found = "an array"
	case c == '"':
		m.err.Found = "a string"
	case c == '-' || isDigit(c):
		m.err.Found = "a number"
	}
}

func (m *machine) firstKey(c byte) {
	if c == '}' {
		m.pop()
		return
	}
	m.key(c)
}

func (m *machine) key(c byte) {
	switch {
	case isSpace(c):
	case c == '"':
		m.beginText(true)
	default:
		m.failUnexpected(c)
	}
}

func (m *machine) colon(c byte) {
	switch {
	case isSpace(c):
	case c == ':':
		m.state = atValue
	default:
		m.failUnexpected(c)
	}
}

func (m *machine) firstElement(c byte) {
	if c == ']' {
		m.pop()
		return
	}
	m.beginValue(c)
}

func (m *machine) beginValue(c byte) {
	if isSpace(c) {
		return
	}
	switch c {
	case '"':
		m.beginText(false)
	case '{', '[':
		m.push(c == '{')
	case '-':
		m.state = inMinus
	case '0':
		m.state = inZero
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		m.state = inInteger
	case 't':
		m.beginLiteral("rue")
	case 'f':
		m.beginLiteral("alse")
	case 'n':
		m.beginLiteral("ull")
	default:
		m.failUnexpected(c)
	}
}

func (m *machine) separator(c byte) {
	f := m.top()
	switch {
	case isSpace(c):
	case c == ',' && f.object:
		m.state = atKey
	case c == ',':
		f.index++
		m.state = atValue
	case c == '}' && f.object, c == ']' && !f.object:
		m.pop()
	default:
		m.failUnexpected(c)
	}
}

func (m *machine) trailing(c byte) {
	if !isSpace(c) {
		m.failTrailing()
	}
}

func (m *machine) failTrailing() {
	m.failHere(TrailingData, fmt.Sprintf("expected nothing after the object, which ended after %s", count(m.whole.end)),
		`Send one JSON object and nothing after it; a second object needs its own call.`)
}

func (m *machine) push(object bool) {
	if len(m.stack) >= m.maxDepth {
		m.failTooDeep()
		return
	}
	if len(m.stack) < cap(m.stack) {
		m.stack = m.stack[:len(m.stack)+1] // a popped frame, whose memory is used again
	} else {
		m.stack = append(m.stack, frame{})
	}
	f := m.top()
	f.object, f.index = object, 0
	m.state = atFirstElement
	if object {
		m.state = atFirstKey
	}
}

func (m *machine) failTooDeep() {
	m.fail(TooDeep, m.pos, fmt.Sprintf("the value of %s opens nesting level %d, and the limit is %d,", place(m.path()), len(m.stack)+1, m.maxDepth),
		`Send the input with fewer levels of objects and arrays.`)
}

func (m *machine) pop() {
	if !m.nested() {
		m.whole.end = m.pos + 1
		m.state = atEnd
		return
	}
	m.top().keys.reset()
	m.stack = m.stack[:len(m.stack)-1]
	m.state = afterValue
}

// path names the value being read, or the enclosing one between fields. It is for
// reading: edits[2].old_string, with what is long cut.
func (m *machine) path() string {
	frames := m.stack
	switch {
	case m.text.key, m.state == atFirstKey, m.state == atKey, m.state == atFirstElement, m.state == atEnd:
		frames = frames[:len(frames)-1]
	}
	var b strings.Builder
	for _, f := range frames {
		switch {
		case !f.object:
			writeIndex(&b, f.index)
		case len(f.keys.names) > 0:
			writeKey(&b, f.keys.last())
		}
	}
	return shorten(b.String(), maxPath)
}

func (m *machine) fail(kind Kind, offset int, problem, advice string) {
	m.err = &Error{Kind: kind, Offset: int64(offset), Path: m.path(), Problem: problem, Advice: advice}
}

// failHere is fail for a problem that is the byte at pos, which the error then shows.
func (m *machine) failHere(kind Kind, problem, advice string) {
	m.fail(kind, m.pos, problem, advice)
	m.unexpected = true
}

func (m *machine) failUnexpected(c byte) {
	m.failHere(Malformed, "expected "+m.expected(), m.correction(c))
}

// expected says what the grammar wants next, outside strings.
func (m *machine) expected() string {
	in := place(m.path())
	switch m.state {
	case atFirstKey:
		return `'"' to open a field name, or '}', in ` + in
	case atKey:
		return `'"' to open the next field name in ` + in
	case atColon:
		return `':' after the name of ` + in
	case atValue:
		return `a value for ` + in
	case atFirstElement:
		return `a value or ']' in ` + in
	case afterValue:
		if m.top().object {
			return `',' or '}' after the value of ` + in
		}
		return `',' or ']' after the value of ` + in
	case inLiteral:
		return `true, false or null as the value of ` + in
	}
	return `a digit in the value of ` + in
}

// correction guesses from the byte that came what the model had in mind.
func (m *machine) correction(c byte) string {
	before := m.previous()
	switch {
	case c == '/' || c == '#':
		return `Leave out comments; JSON has none.`
	case before == ',' && (c == '}' || c == ']'):
		return fmt.Sprintf(`Leave out the ',' before '%c'.`, c)
	}
	switch m.state {
	case atFirstKey, atKey:
		return `Put every field name in double quotes.`
	case atValue, atFirstElement, inLiteral:
		if isLetter(c) || c == '\'' || c >= utf8.RuneSelf {
			return `Put text in double quotes; only numbers, true, false and null go without.`
		}
	case afterValue:
		return separation(before, c)
	}
	return sendObject
}

// previous returns the last byte before pos that is not white space.
func (m *machine) previous() byte {
	read := bytes.TrimRight(m.raw[:m.pos], " \t\r\n")
	return read[len(read)-1]
}

func (m *machine) failDuplicate(name string) {
	m.fail(DuplicateKey, m.text.begin, fmt.Sprintf("the field %s occurs twice in %s, the second time", quoteKey(name), place(m.path())),
		`Send each field once, with the intended value.`)
}

// stringPlace describes where the unfinished string is.
func (m *machine) stringPlace() string {
	if m.text.key {
		return "a field name in " + place(m.path())
	}
	return "the string value of " + place(m.path())
}

func (m *machine) failSurrogate() {
	at := m.text.mark
	m.fail(Malformed, at, fmt.Sprintf(`the escape %s is one half of a surrogate pair without the other in %s`, m.raw[at:at+6], m.stringPlace()),
		`Write the character itself, or both halves such as \ud83d\ude00.`)
}

func (m *machine) failUTF8() {
	at := m.text.mark
	m.fail(Malformed, at, fmt.Sprintf(`byte 0x%02x is not valid UTF-8 in %s`, m.raw[at], m.stringPlace()),
		`Send text as UTF-8; JSON cannot carry other bytes.`)
}

func (m *machine) failTooLarge(limit int) {
	problem := fmt.Sprintf("the input is over the limit of %s", count(limit))
	if p := m.path(); p != "" {
		problem += ", reached in " + place(p)
	}
	m.fail(TooLarge, limit, problem, `Split the work into several smaller calls.`)
}

func (m *machine) run() {
	for m.err == nil && m.pos < len(m.raw) {
		if m.state == inText && m.plainText() {
			continue
		}
		steps[m.state](m, m.raw[m.pos])
		if m.err == nil {
			m.pos++
		}
	}
}

// plainText takes the run of bytes that stand for themselves, and reports whether
// there was one. It is the short way of textByte for nearly all that arrives.
func (m *machine) plainText() bool {
	rest := m.raw[m.pos:]
	n := 0
	for n < len(rest) && ' ' <= rest[n] && rest[n] < utf8.RuneSelf && rest[n] != '"' && rest[n] != '\\' {
		n++
	}
	m.text.write(rest[:n])
	m.pos += n
	return n > 0
}

func (m *machine) failTruncated() {
	where := "still needing " + m.expected()
	switch {
	case inText <= m.state && m.state <= inRune:
		where = "inside " + m.stringPlace()
	case inMinus <= m.state:
		where = "inside the value of " + place(m.path())
	}
	m.fail(Truncated, len(m.raw), fmt.Sprintf("the input ended after %s, %s", count(len(m.raw)), where),
		`Send the whole object again, and if it is long, split the work into smaller calls.`)
}

// number reads on in a number. Only the byte after it shows that a number has ended,
// and that byte is then read as what follows a value.
func (m *machine) number(c byte) {
	if next, ok := numberState(m.state, c); ok {
		m.state = next
		return
	}
	switch m.state {
	case inZero, inInteger, inFraction, inPower:
		if m.state == inZero && isDigit(c) {
			m.failLeadingZero()
			return
		}
		m.state = afterValue
		m.separator(c)
	default:
		m.failUnexpected(c)
	}
}

func (m *machine) failLeadingZero() {
	m.fail(Malformed, m.pos, "the number for "+place(m.path())+" has a leading zero", `Write the number without it.`)
}

// beginLiteral takes the first letter of a literal; rest are the others.
func (m *machine) beginLiteral(rest string) {
	m.literal = rest
	m.state = inLiteral
}

func (m *machine) literalByte(c byte) {
	if c != m.literal[0] {
		m.failUnexpected(c)
		return
	}
	if m.literal = m.literal[1:]; m.literal == "" {
		m.state = afterValue
	}
}

func (m *machine) beginText(key bool) {
	m.text.begin, m.text.key = m.pos, key
	if key {
		m.text.Reset()
	}
	m.state = inText
}

func (m *machine) endText() {
	if m.text.key {
		m.endKey()
		return
	}
	m.state = afterValue
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

// writeKey adds a key to a path, in brackets if it would not read well without.
func writeKey(b *strings.Builder, key string) {
	if key == "" || strings.ContainsAny(key, `."[]`) {
		b.WriteString("[" + quoteKey(key) + "]")
		return
	}
	if b.Len() > 0 {
		b.WriteByte('.')
	}
	writeVisible(b, []byte(shorten(key, maxKey)))
}

func writeIndex(b *strings.Builder, i int) { fmt.Fprintf(b, "[%d]", i) }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
