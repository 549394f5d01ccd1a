package plainjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Members calls each with the members of an object in the order in which they are written. It fails if raw is not an object
// as a whole, or as each does.
func Members(raw []byte, each func(name string, value []byte) error) error {
	r := reader{raw: raw}
	var failed error
	return r.parts('{', func() bool {
		start := r.at
		if r.raw[r.at] != '"' || !r.text() {
			return false
		}
		name := r.raw[start:r.at]
		if !r.space() || r.raw[r.at] != ':' {
			return false
		}
		r.at++
		if !r.space() {
			return false
		}
		start = r.at
		if !r.value() {
			return false
		}
		if failed == nil {
			var s string
			if s, failed = Text(name); failed == nil {
				failed = each(s, r.raw[start:r.at:r.at])
			}
		}
		return true
	}, &failed)
}

// Elements is [Members] for an array.
func Elements(raw []byte, each func(value []byte) error) error {
	r := reader{raw: raw}
	var failed error
	return r.parts('[', func() bool {
		start := r.at
		if !r.value() {
			return false
		}
		if failed == nil {
			failed = each(r.raw[start:r.at:r.at])
		}
		return true
	}, &failed)
}

// Text decodes a string, which is valid JSON.
func Text(raw []byte) (s string, err error) {
	if len(raw) >= 2 && raw[0] == '"' && utf8.Valid(raw) {
		inner := raw[1 : len(raw)-1]
		at := bytes.IndexByte(inner, '\\')
		if at < 0 {
			return string(inner), nil
		}
		if s, ok := unescape(inner, at); ok {
			return s, nil
		}
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

// unescape decodes what is between quotes; its first escape is at at. It leaves characters
// that are written by their numbers to encoding/json: texts have few of these and many ends
// of lines.
func unescape(inner []byte, at int) (string, bool) {
	var out strings.Builder
	out.Grow(len(inner))
	for at >= 0 {
		if at+1 >= len(inner) {
			return "", false
		}
		c, ok := escaped(inner[at+1])
		if !ok {
			return "", false
		}
		out.Write(inner[:at])
		out.WriteByte(c)
		inner = inner[at+2:]
		at = bytes.IndexByte(inner, '\\')
	}
	out.Write(inner)
	return out.String(), true
}

// escaped is the byte that a letter after a backslash stands for.
func escaped(letter byte) (byte, bool) {
	switch letter {
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case '"', '\\', '/':
		return letter, true
	}
	return 0, false
}
