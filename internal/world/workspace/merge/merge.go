// Package merge joins two changed versions of a text that come from one base, as git merge-file does.
//
//	r := merge.Lines(base, ours, theirs)     // lines with their endings
//	if r.Clean() { use(r.Bytes()) } else { show(r.Marked("edit", "disk")) }
//
// Where both sides changed the same or adjoining lines differently there is a conflict; the merge never picks a side by
// itself and never joins what git would call a conflict, except where both sides made the same change. Everything is a
// pure function of its arguments.
package merge

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Result is a merged text as a sequence of chunks.
type Result struct {
	Chunks []Chunk
}

// Chunk is a run of lines. A resolved chunk has its text in Ours, whichever side it came from; in a conflict all three
// sides are given.
type Chunk struct {
	Conflict           bool
	Foreign            bool // resolved, and taken from theirs
	Base, Ours, Theirs [][]byte
	BaseLine           int // zero-based line in the base where the chunk begins
}

// Clean reports whether nothing conflicts.
func (r Result) Clean() bool {
	for _, c := range r.Chunks {
		if c.Conflict {
			return false
		}
	}
	return true
}

// Conflicts returns the chunks that need a choice.
func (r Result) Conflicts() []Chunk {
	var out []Chunk
	for _, c := range r.Chunks {
		if c.Conflict {
			out = append(out, c)
		}
	}
	return out
}

// Bytes returns the merged text with our side of every conflict: all of it when the result is clean, and the answer to
// "overwrite" when it is not.
func (r Result) Bytes() []byte {
	var b bytes.Buffer
	for _, c := range r.Chunks {
		writeLines(&b, c.Ours)
	}
	return b.Bytes()
}

// Marked returns the merged text with git's conflict markers around every conflict. The markers end as the lines around
// them do.
func (r Result) Marked(ours, theirs string) []byte {
	var b bytes.Buffer
	for _, c := range r.Chunks {
		if !c.Conflict {
			writeLines(&b, c.Ours)
			continue
		}
		ending := chunkEnding(c)
		b.WriteString("<<<<<<< " + ours + ending)
		writeSide(&b, c.Ours, ending)
		b.WriteString("=======" + ending)
		writeSide(&b, c.Theirs, ending)
		b.WriteString(">>>>>>> " + theirs + ending)
	}
	return b.Bytes()
}

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

func writeLines(b *bytes.Buffer, lines [][]byte) {
	for _, l := range lines {
		b.Write(l)
	}
}

// writeSide writes one side of a conflict so that the marker after it starts a line of its own.
func writeSide(b *bytes.Buffer, lines [][]byte, ending string) {
	writeLines(b, lines)
	if n := len(lines); n > 0 && endingOf(lines[n-1]) == "" {
		b.WriteString(ending)
	}
}

// chunkEnding returns how the lines of a conflict end.
func chunkEnding(c Chunk) string {
	for _, side := range [][][]byte{c.Ours, c.Theirs, c.Base} {
		if len(side) > 0 && endingOf(side[0]) != "" {
			return endingOf(side[0])
		}
	}
	return "\n"
}

func endingOf(line []byte) string {
	for _, e := range []string{"\r\n", "\n", "\r"} {
		if bytes.HasSuffix(line, []byte(e)) {
			return e
		}
	}
	return ""
}
