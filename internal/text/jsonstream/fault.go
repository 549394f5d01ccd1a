package jsonstream

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// The faults: what each one says, and what it advises.

const sendObject = `Send one complete JSON object such as {"file_path": "/a"}.`

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

// separation is the advice when c follows a value that ended with before.
func separation(before, c byte) string {
	switch {
	case before == '"':
		return `Write a double quote inside a string as \", and put ',' between values.`
	case c == '"' || c == '{' || c == '[':
		return `Put ',' between values.`
	case c == '}' || c == ']':
		return `Close each '{' with '}' and each '[' with ']', the innermost first.`
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

// stringPlace names the string in flight in a sentence.
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

// count names a number of bytes.
func count(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
