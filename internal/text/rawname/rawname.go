// Package rawname carries names of files through JSON, byte by byte. A file may have a
// name that is not UTF-8, and an encoder would put U+FFFD in place of what is not text,
// which is another name. It touches no file and is safe for concurrent use.
package rawname

import (
	"encoding/hex"
	"unicode/utf8"
)

// mark begins a name that is given in hexadecimal: no name of a file, argument or
// variable holds it.
const mark = "\x00"

// Encode returns a text that stands for a name: the name itself if it is text.
func Encode(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return mark + hex.EncodeToString([]byte(name))
}

// Decode returns the name that a text stands for.
func Decode(text string) string {
	if len(text) < len(mark) || text[:len(mark)] != mark {
		return text
	}
	raw, err := hex.DecodeString(text[len(mark):])
	if err != nil {
		return text // nobody encoded it; no file has such a name
	}
	return string(raw)
}

// EncodeAll returns the names encoded; the same slice if nothing changes.
func EncodeAll(names []string) []string { return each(names, Encode) }

// DecodeAll is the way back.
func DecodeAll(texts []string) []string { return each(texts, Decode) }

func each(in []string, change func(string) string) []string {
	out := in
	for i, s := range in {
		changed := change(s)
		if changed == s {
			continue
		}
		if &out[0] == &in[0] {
			out = append([]string(nil), in...)
		}
		out[i] = changed
	}
	return out
}
