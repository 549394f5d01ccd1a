package merge

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// ByWords merges each conflict again word by word, and leaves what conflicts even so. Two changes of one line that do not
// touch each other can be joined that way, which git would not do: the caller must have another reason to trust the result.
func (r Result) ByWords() Result {
	var out Result
	for _, c := range r.Chunks {
		if c.Conflict {
			if m := Lines(words(c.Base), words(c.Ours), words(c.Theirs)); m.Clean() {
				c.Conflict, c.Ours = false, [][]byte{m.Bytes()}
			}
		}
		out.Chunks = append(out.Chunks, c)
	}
	return out
}

// words cuts lines into words, runs of blanks and single signs.
func words(lines [][]byte) (out [][]byte) {
	text := bytes.Join(lines, nil)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		for in := class(r); in != sign && n < len(text); {
			next, size := utf8.DecodeRune(text[n:])
			if class(next) != in {
				break
			}
			n += size
		}
		out, text = append(out, text[:n:n]), text[n:]
	}
	return out
}

const (
	sign = iota
	letter
	blank
)

func class(r rune) int {
	switch {
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
		return letter
	case r == ' ' || r == '\t':
		return blank
	}
	return sign
}
