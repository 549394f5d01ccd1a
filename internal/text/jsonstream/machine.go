package jsonstream

import (
	"fmt"
	"strings"
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

	whole  span   // the outermost object, once it has ended
	fields []span // the complete top-level values; their names are stack[0].keys.names
	value  int    // where the top-level value in flight begins, zero before its first byte

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
	if !m.nested() {
		m.value = m.pos
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

// endValue takes the value that ends before end as complete.
func (m *machine) endValue(end int) {
	if !m.nested() {
		m.fields = append(m.fields, span{m.value, end})
	}
	m.state = afterValue
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
	m.endValue(m.pos + 1)
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
