package plainjson

import (
	"bytes"
	"encoding/json"
	"fmt"
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

func (r *reader) parts(begin byte, part func() bool, failed *error) error {
	if !r.space() || r.raw[r.at] != begin || !r.nested(begin+2, part) || r.space() {
		return fmt.Errorf("invalid JSON at byte %d of %d", r.at, len(r.raw))
	}
	return *failed
}

// Text decodes a string.
func Text(raw []byte) (s string, err error) {
	if len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}
