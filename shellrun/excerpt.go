package shellrun

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/plural"
)

// An Excerpt is an Output shortened to a bounded length.
type Excerpt struct {
	Text string // if anything was left out, the first line says so, with exact counts and where the whole is

	Total     Counts
	Truncated bool
	Path      string // the file with the whole output, "" if there is none
}

// Excerpt returns at most limit characters of the output: all of it if it fits, otherwise its
// beginning and its end. If raw is set, terminal escapes are kept.
func (o *Output) Excerpt(limit int, raw bool) Excerpt {
	o.mu.Lock()
	defer o.mu.Unlock()
	clean := Clean
	if raw {
		clean = func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	}
	e := Excerpt{Total: o.countsLocked()}
	if o.size <= int64(len(o.head)) {
		if text := clean(string(o.head)); utf8.RuneCountInString(text) <= limit {
			e.Text = text
			return e
		}
		if o.file == nil { // what is shown in part is kept as a whole
			o.openFileLocked()
		}
	}
	if o.file != nil {
		e.Path = o.file.path
	}
	e.Truncated = true
	const noteRoom = 1000
	for half := max(limit-noteRoom, 0) / 2; ; {
		head, tail := o.endsLocked(half)
		e.Text = o.noteLocked(e, head, tail) + clean(string(head)) + "\n\n[…]\n\n" + clean(string(tail))
		over := utf8.RuneCountInString(e.Text) - limit // the path in the note may be long
		if over <= 0 {
			return e
		}
		if half == 0 {
			e.Text = string([]rune(e.Text)[:limit])
			return e
		}
		half = max(0, half-(over+1)/2)
	}
}

// endsLocked cuts up to n characters from both ends, at the ends of lines where
// they are not too far.
func (o *Output) endsLocked(n int) (head, tail []byte) {
	head = firstChars(o.head, n)
	head = head[:wholeText(head)]
	if i := bytes.LastIndexByte(head, '\n'); i >= len(head)/2 {
		head = head[:i+1]
	}
	tail = o.tail
	tail = tail[max(0, int64(len(tail))-(o.size-int64(len(head)))):] // never the same bytes twice
	tail = afterEscape(tail, lastChars(tail, n))
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 && i+1 < len(tail) {
		tail = tail[i+1:]
	}
	return head, tail
}

func (o *Output) noteLocked(e Excerpt, head, tail []byte) string {
	omitted := o.size - int64(len(head)) - int64(len(tail))
	newlines := o.newlines - int64(bytes.Count(head, []byte{'\n'})) - int64(bytes.Count(tail, []byte{'\n'}))
	note := fmt.Sprintf("[Output truncated: %d bytes, %s in total. "+
		"The first %d and last %d bytes are shown; %d bytes with %s between them are left out.",
		e.Total.Bytes, plural.Of(e.Total.Lines, "line"), len(head), len(tail), omitted, plural.Of(newlines, "line end"))
	switch {
	case o.file == nil:
		note += fmt.Sprintf(" They are lost: %v.", o.spoolErr)
	case o.kept < o.size:
		note += fmt.Sprintf(" %s has the first %d bytes", e.Path, o.kept)
		if o.file.err != nil {
			note += fmt.Sprintf(" (%v)", o.file.err)
		}
		note += "; the rest was over the quota or could not be written."
	default:
		note += fmt.Sprintf(" The whole output is in %s.", e.Path)
	}
	return note + "]\n"
}

// firstChars returns the beginning of p with n characters, bytes that are no
// UTF-8 counting one each.
func firstChars(p []byte, n int) []byte {
	i := 0
	for ; n > 0 && i < len(p); n-- {
		_, size := utf8.DecodeRune(p[i:])
		i += size
	}
	return p[:i]
}

// lastChars is firstChars from the other end.
func lastChars(p []byte, n int) []byte {
	i := len(p)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRune(p[:i])
		i -= size
	}
	return p[i:]
}

// afterEscape shortens rest, the end of p, if it begins within a terminal
// escape.
func afterEscape(p, rest []byte) []byte {
	cut := len(p) - len(rest)
	i := bytes.LastIndexByte(p[max(0, cut-maxEscape):cut], '\x1b')
	if i < 0 {
		return rest
	}
	escape := max(0, cut-maxEscape) + i
	end := escape + len(wholeEscape.Get().Find(p[escape:min(len(p), escape+maxEscape)]))
	return p[max(cut, end):]
}
