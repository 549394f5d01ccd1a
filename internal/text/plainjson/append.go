package plainjson

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends a string as [Marshal] encodes it.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = appendEscape(append(dst, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + n
		case r == '\u2028' || r == '\u2029': // they end lines in JavaScript
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + n
		}
		i += n
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// plain are the bytes that stand for themselves in a string, whatever is around them.
var plain = func() (t [256]bool) {
	for c := range utf8.RuneSelf {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// AppendCompact appends JSON without the space between its parts. It fails if raw is not one value.
func AppendCompact(dst, raw []byte) ([]byte, error) {
	r := reader{raw: raw, dst: dst, copies: true}
	if !r.whole() {
		return dst, fmt.Errorf("invalid JSON at byte %d of %d", r.at, len(raw))
	}
	return append(r.dst, raw[r.from:r.at]...), nil
}

// Valid is json.Valid in a fraction of its time.
func Valid(raw []byte) bool {
	r := reader{raw: raw}
	return r.whole()
}

// deepest is how deep the values that encoding/json reads may be nested.
const deepest = 10000

// A reader goes over JSON once, and copies what is not space if it shall.
type reader struct {
	raw    []byte
	at     int
	depth  int
	copies bool
	from   int // what is to be copied begins here
	dst    []byte
}

// whole reads all there is as one value.
func (r *reader) whole() bool {
	if !r.space() || !r.value() {
		return false
	}
	return !r.space()
}

// space skips what means nothing, and reports whether more comes.
func (r *reader) space() bool {
	start := r.at
	for r.at < len(r.raw) {
		switch r.raw[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
			continue
		}
		break
	}
	if r.copies && r.at > start {
		r.dst = append(r.dst, r.raw[r.from:start]...)
		r.from = r.at
	}
	return r.at < len(r.raw)
}

// value reads the value that begins here.
func (r *reader) value() bool {
	switch c := r.raw[r.at]; c {
	case '"':
		return r.text()
	case '{':
		return r.nested('}', r.member)
	case '[':
		return r.nested(']', r.value)
	case 't':
		return r.word("true")
	case 'f':
		return r.word("false")
	case 'n':
		return r.word("null")
	default:
		return r.number()
	}
}

// nested reads the parts of an object or an array.
func (r *reader) nested(end byte, part func() bool) bool {
	if r.depth++; r.depth > deepest {
		return false
	}
	r.at++
	if !r.space() {
		return false
	}
	if r.raw[r.at] == end {
		r.at++
		r.depth--
		return true
	}
	for {
		if !part() || !r.space() {
			return false
		}
		c := r.raw[r.at]
		r.at++
		if c == end {
			r.depth--
			return true
		}
		if c != ',' || !r.space() {
			return false
		}
	}
}

func (r *reader) member() bool {
	if r.raw[r.at] != '"' || !r.text() || !r.space() || r.raw[r.at] != ':' {
		return false
	}
	r.at++
	return r.space() && r.value()
}

func (r *reader) word(w string) bool {
	if len(r.raw)-r.at < len(w) || string(r.raw[r.at:r.at+len(w)]) != w {
		return false
	}
	r.at += len(w)
	return true
}

func (r *reader) text() bool {
	raw := r.raw
	for i := r.at + 1; i < len(raw); i++ {
		for i+8 < len(raw) && allPlain(binary.LittleEndian.Uint64(raw[i:])) {
			i += 8
		}
		switch c := raw[i]; {
		case plain[c] || c >= utf8.RuneSelf:
		case c == '"':
			r.at = i + 1
			return true
		case c != '\\' || i+1 >= len(raw):
			return false
		default:
			if i++; raw[i] == 'u' {
				if i+4 >= len(raw) || !hex(raw[i+1]) || !hex(raw[i+2]) || !hex(raw[i+3]) || !hex(raw[i+4]) {
					return false
				}
				i += 4
			} else if !escapable(raw[i]) {
				return false
			}
		}
	}
	return false
}

// allPlain reports whether none of eight bytes is a quote, a backslash or a control character, in a few steps.
func allPlain(w uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, backslash := w^(ones*'"'), w^(ones*'\\')
	return ((w-ones*' ')&^w|(quote-ones)&^quote|(backslash-ones)&^backslash)&tops == 0
}

func escapable(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

func hex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (r *reader) number() bool {
	if r.is("-") {
		r.at++
	}
	if r.is("0") {
		r.at++
	} else if !r.digits() {
		return false
	}
	if r.is(".") {
		r.at++
		if !r.digits() {
			return false
		}
	}
	if r.is("eE") {
		if r.at++; r.is("+-") {
			r.at++
		}
		return r.digits()
	}
	return true
}

// is reports whether one of some characters comes.
func (r *reader) is(one string) bool {
	if r.at < len(r.raw) {
		for i := range len(one) {
			if r.raw[r.at] == one[i] {
				return true
			}
		}
	}
	return false
}

func (r *reader) digits() bool {
	start := r.at
	for r.at < len(r.raw) && r.raw[r.at] >= '0' && r.raw[r.at] <= '9' {
		r.at++
	}
	return r.at > start
}

func (r *reader) parts(begin byte, part func() bool, failed *error) error {
	if !r.space() || r.raw[r.at] != begin || !r.nested(begin+2, part) || r.space() {
		return fmt.Errorf("invalid JSON at byte %d of %d", r.at, len(r.raw))
	}
	return *failed
}
