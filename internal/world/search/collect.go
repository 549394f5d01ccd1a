package search

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/world/search/rx"
)

// maxColumns is where a line is cut in the output; never in the match.
const maxColumns = 500

// collector turns the matches in one text into a Hit.
type collector struct {
	q   *Query
	m   *rx.Matcher
	max int // lines worth collecting; 0 means all

	text    []byte
	hit     Hit
	counted int // bytes of text whose line breaks are counted in number
	number  int // line breaks before counted
	shown   int // end of the last line in hit
	owed    int // lines of context still to come after shown
}

// collect searches text and gives the hit, with ok false if there is none. binary
// reports a file that matches but is not text; what it has before the first NUL
// counts if that comes late, as in ripgrep.
func (c *collector) collect(text []byte, explicit bool) (hit Hit, ok, binary bool) {
	c.begin()
	_, binary = c.piece(text, 0, 0)
	if binary && explicit {
		return Hit{Count: max(1, c.hit.Count), Binary: true}, true, true
	}
	return c.hit, c.hit.Count > 0, binary
}

// begin forgets the last text.
func (c *collector) begin() {
	c.text, c.hit, c.counted, c.number, c.shown, c.owed = nil, Hit{}, 0, 0, 0, 0
}

// piece takes the next piece of a text, which ends with a line, and reports whether that
// was enough or is not text. The piece begins shift bytes after the one before did; its
// first done bytes were searched with that one and are there for context.
func (c *collector) piece(text []byte, shift, done int) (enough, binary bool) {
	c.text, c.counted, c.shown = text, c.counted-shift, max(0, c.shown-shift)
	c.m.Reset(text)
	checked := done
	for lo, hi, found := c.m.Next(); found; lo, hi, found = c.m.Next() {
		if lo < done {
			continue
		}
		lines := hi
		if c.q.Multiline {
			if lo >= len(text) {
				break // the phantom line after the last line break
			}
			lines = lineEnd(text, max(lo, hi-1))
		}
		if checked == 0 {
			lines = max(lines, min(len(text), sniff))
		}
		if lines > checked {
			if bytes.IndexByte(text[checked:lines], 0) >= 0 {
				binary = true
				break
			}
			checked = lines
		}
		if enough = c.add(lo, hi) || c.hit.Count%1024 == 0 && c.m.Stop != nil && c.m.Stop(); enough {
			break
		}
	}
	c.contextAfter(len(text))
	return enough, binary
}

// add takes one match and reports whether that was enough.
func (c *collector) add(lo, hi int) (enough bool) {
	c.hit.Count++
	switch c.q.Mode {
	case Files:
		return true
	case Count:
		return false
	}
	if c.q.Multiline {
		lo, hi = c.wholeLines(lo, hi)
	}
	if c.q.OnlyMatching {
		c.parts(lo, hi)
	} else {
		c.contextAfter(lo)
		c.contextBefore(lo)
		for lo < hi {
			end := lineEnd(c.text, lo)
			if lo >= c.shown {
				c.show(lo, end, true)
			} else if n := len(c.hit.Lines); n > 0 && end == c.shown {
				c.hit.Lines[n-1].Match = true
			}
			lo = end
		}
		c.owed = c.q.After
	}
	c.hit.cut = c.max > 0 && len(c.hit.Lines) >= c.max
	return c.hit.cut
}

func (c *collector) wholeLines(lo, hi int) (int, int) {
	lo = bytes.LastIndexByte(c.text[:lo], '\n') + 1
	return lo, lineEnd(c.text, max(lo, hi-1))
}

// parts shows what matches in lines lo..hi.
func (c *collector) parts(lo, hi int) {
	for _, s := range c.m.Spans(c.text[lo : hi-1]) {
		part := bytes.TrimRight(c.text[lo+s[0]:lo+s[1]], "\r")
		for l := range bytes.SplitSeq(part, []byte("\n")) {
			c.hit.Lines = append(c.hit.Lines, Line{c.lineNumber(lo + s[0]), clip(l, 0), true})
		}
	}
}

func (c *collector) contextBefore(lo int) {
	start := lo
	for range c.q.Before {
		if start <= c.shown {
			break
		}
		start = bytes.LastIndexByte(c.text[:start-1], '\n') + 1
	}
	for start = max(start, c.shown); start < lo; {
		end := lineEnd(c.text, start)
		c.show(start, end, false)
		start = end
	}
}

// contextAfter shows the lines owed to the last match, as far as limit.
func (c *collector) contextAfter(limit int) {
	for ; c.owed > 0 && c.shown < limit; c.owed-- {
		c.show(c.shown, lineEnd(c.text, c.shown), false)
	}
}

func (c *collector) show(lo, hi int, match bool) {
	line := bytes.TrimSuffix(bytes.TrimSuffix(c.text[lo:hi], []byte("\n")), []byte("\r"))
	at := 0
	if match && len(line) > maxColumns && !c.q.Multiline {
		at = c.m.Locate(c.text[lo:hi])
	}
	c.hit.Lines = append(c.hit.Lines, Line{c.lineNumber(lo), clip(line, at), match})
	c.shown = hi
}

// lineNumber counts on from where it last was.
func (c *collector) lineNumber(at int) int {
	if at < c.counted {
		return c.number + 1 - bytes.Count(c.text[at:c.counted], []byte("\n"))
	}
	c.number += bytes.Count(c.text[c.counted:at], []byte("\n"))
	c.counted = at
	return c.number + 1
}

// keep returns from where on the current piece is needed as context of the next one, and
// counts the lines before: the piece may be gone when they are asked for.
func (c *collector) keep() int {
	start := len(c.text)
	for range c.q.Before {
		if start <= 0 {
			break
		}
		start = bytes.LastIndexByte(c.text[:start-1], '\n') + 1
	}
	c.lineNumber(start)
	return start
}

func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// clip shortens a line to the part around at and says how much is missing.
func clip(line []byte, at int) string {
	if len(line) <= maxColumns {
		return validText(line)
	}
	lo := max(0, min(at-maxColumns/2, len(line)-maxColumns))
	hi := lo + maxColumns
	for lo > 0 && !utf8.RuneStart(line[lo]) {
		lo--
	}
	for hi < len(line) && !utf8.RuneStart(line[hi]) {
		hi++
	}
	s := validText(line[lo:hi])
	if lo > 0 {
		s = fmt.Sprintf("[… %d bytes] %s", lo, s)
	}
	if hi < len(line) {
		s = fmt.Sprintf("%s [… %d bytes]", s, len(line)-hi)
	}
	return s
}

// validText is b as a string, with what is not UTF-8 replaced, which is rare.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}
