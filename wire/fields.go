package wire

import (
	"bytes"
	"encoding/json"
	"iter"
)

// A field is a member of a JSON object; the value points into the line.
type field struct {
	name  string
	value json.RawMessage
}

// fields yields the members of the object in line. It does not check the JSON: it stops
// where it cannot continue, and decoding the line reports the error.
func fields(line []byte) iter.Seq[field] {
	return func(yield func(field) bool) {
		rest, ok := bytes.CutPrefix(skipSpace(line), []byte("{"))
		for ok {
			rest = skipSpace(rest)
			end := stringEnd(rest)
			if end < 0 {
				return
			}
			var name string
			if json.Unmarshal(rest[:end], &name) != nil {
				return
			}
			rest, ok = bytes.CutPrefix(skipSpace(rest[end:]), []byte(":"))
			if !ok {
				return
			}
			rest = skipSpace(rest)
			end = valueEnd(rest)
			if end <= 0 || !yield(field{name, bytes.TrimRight(rest[:end], " \t\r\n")}) {
				return
			}
			rest, ok = bytes.CutPrefix(skipSpace(rest[end:]), []byte(","))
		}
	}
}

func skipSpace(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

// stringEnd returns where the string at the start of b ends, -1 if there is none.
func stringEnd(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// valueEnd returns where the value at the start of b ends, -1 if it does not.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := stringEnd(b[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}
