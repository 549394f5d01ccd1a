// Package patch describes the difference between two texts as hunks, as a unified diff, and as the structured patch that
// front ends draw.
//
//	hunks := patch.Diff(before, after, 5)
//	fmt.Print(patch.Unified("a/x.go", "b/x.go", hunks))
//
// Lines end at \n and keep whatever stands before it, so a change of \r\n to \n is a change. Everything is a pure function
// of its arguments; the cost depends on the part that differs, not on the size of the texts.
package patch

import (
	"bytes"
	"fmt"
	"strings"

	"znkr.io/diff"
)

// Hunk is one change with its context. Lines begin with ' ', '-' or '+' and have no final newline; a line
// `\ No newline at end of file` follows the last line of a side that lacks it. Starts count from 1 and are 0 for an empty side.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// noNewline is the line diff and patch agree on for a missing final newline.
const noNewline = `\ No newline at end of file`

// Diff returns the changes from before to after with up to context unchanged lines around each. Equal texts have none.
func Diff(before, after []byte, context int) []Hunk {
	if bytes.Equal(before, after) {
		return nil
	}
	skip := commonLines(before, after)
	firstLine := bytes.Count(before[:skip], []byte("\n"))
	lead := lastLines(before[:skip], context)
	before, after = before[skip-len(lead):], after[skip-len(lead):]
	firstLine -= bytes.Count(lead, []byte("\n"))
	tail := commonTail(before[len(lead):], after[len(lead):])
	end := firstLines(before[len(before)-tail:], context)
	before, after = before[:len(before)-tail+end], after[:len(after)-tail+end]

	x, y := split(before), split(after)
	var hunks []Hunk
	for _, h := range diff.Hunks(x, y, diff.Context(context)) {
		hunks = append(hunks, hunk(h, firstLine))
	}
	return hunks
}

func hunk(h diff.Hunk[string], firstLine int) Hunk {
	out := Hunk{
		OldStart: h.PosX + 1 + firstLine, OldLines: h.EndX - h.PosX,
		NewStart: h.PosY + 1 + firstLine, NewLines: h.EndY - h.PosY,
	}
	if out.OldLines == 0 {
		out.OldStart--
	}
	if out.NewLines == 0 {
		out.NewStart--
	}
	for _, e := range h.Edits {
		switch e.Op {
		case diff.Match:
			out.add(' ', e.X)
		case diff.Delete:
			out.add('-', e.X)
		case diff.Insert:
			out.add('+', e.Y)
		}
	}
	return out
}

func (h *Hunk) add(mark byte, line string) {
	body, ended := strings.CutSuffix(line, "\n")
	h.Lines = append(h.Lines, string(mark)+body)
	if !ended {
		h.Lines = append(h.Lines, noNewline)
	}
}

// commonLines returns the length of the whole lines both texts begin with.
func commonLines(a, b []byte) int {
	n := commonPrefix(a, b)
	if n == len(a) && n == len(b) {
		return n
	}
	return bytes.LastIndexByte(a[:n], '\n') + 1
}

// commonTail returns the length of the whole lines both texts end with.
func commonTail(a, b []byte) int {
	n := commonSuffix(a, b)
	if atLineStart(a, len(a)-n) && atLineStart(b, len(b)-n) {
		return n
	}
	i := bytes.IndexByte(a[len(a)-n:], '\n')
	if i < 0 {
		return 0
	}
	return n - i - 1
}

func atLineStart(b []byte, at int) bool { return at == 0 || b[at-1] == '\n' }

// stride is how much is compared at a time before looking byte by byte.
const stride = 4096

func commonPrefix(a, b []byte) int {
	n, limit := 0, min(len(a), len(b))
	for n+stride <= limit && bytes.Equal(a[n:n+stride], b[n:n+stride]) {
		n += stride
	}
	for n < limit && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n, limit := 0, min(len(a), len(b))
	for n+stride <= limit && bytes.Equal(a[len(a)-n-stride:len(a)-n], b[len(b)-n-stride:len(b)-n]) {
		n += stride
	}
	for n < limit && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// lastLines returns the last n lines of b, which ends at a line boundary.
func lastLines(b []byte, n int) []byte {
	at := len(b)
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(b[:at-1], '\n') + 1
	}
	return b[at:]
}

// firstLines returns the length of the first n lines of b.
func firstLines(b []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(b); n-- {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return len(b)
		}
		at += i + 1
	}
	return at
}

func split(b []byte) []string {
	lines := strings.SplitAfter(string(b), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Apply returns the text that hunks, as Diff returns them, make of before. It is an error if they are not of this text.
func Apply(before []byte, hunks []Hunk) ([]byte, error) {
	old := split(before)
	var out []byte
	at := 0
	for i, h := range hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start++ // nothing is replaced: it stands after that line
		}
		if start < at || start+h.OldLines > len(old) {
			return nil, fmt.Errorf("hunk %d does not match this text", i+1)
		}
		for _, l := range old[at:start] {
			out = append(out, l...)
		}
		var was []byte
		for n, l := range h.Lines {
			if l == "" || l[0] == '\\' {
				continue
			}
			line := l[1:] + "\n"
			if n+1 < len(h.Lines) && h.Lines[n+1] == noNewline {
				line = l[1:]
			}
			if l[0] != '+' {
				was = append(was, line...)
			}
			if l[0] != '-' {
				out = append(out, line...)
			}
		}
		if at = start + h.OldLines; string(was) != strings.Join(old[start:at], "") {
			return nil, fmt.Errorf("hunk %d does not match this text", i+1)
		}
	}
	for _, l := range old[at:] {
		out = append(out, l...)
	}
	return out, nil
}

// Unified prints hunks as a unified diff with the given file names. No hunks, no text.
func Unified(from, to string, hunks []Hunk) string {
	if len(hunks) == 0 {
		return ""
	}
	return fmt.Sprintf("--- %s\n+++ %s\n", from, to) + Hunks(hunks)
}

// Hunks prints hunks as in a unified diff, without file names.
func Hunks(hunks []Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(h.OldStart, h.OldLines), span(h.NewStart, h.NewLines))
		for _, l := range h.Lines {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func span(start, lines int) string {
	if lines == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, lines)
}
