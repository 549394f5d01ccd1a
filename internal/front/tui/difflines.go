package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"znkr.io/diff"

	"github.com/haftdev/haft/internal/front/tui/code"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/text/visible"
)

// diffLines draws the lines of a hunk: the number, the change, the code in colour, and the words
// that differ. A line that is wider than the screen is broken, never cut: it may be what is asked
// about.
func diffLines(hunk []string, from, to int, path string, v view) []string {
	lang := strings.TrimPrefix(filepath.Ext(path), ".")
	was, is := code.New(lang, v.paint), code.New(lang, v.paint)
	width := max(len(fmt.Sprint(max(from, to)+len(hunk))), 3)
	words := changedWords(hunk)
	var lines []string
	for n, l := range hunk {
		if l == "" || l[0] == '\\' {
			continue
		}
		number, draw := to, func(part string, _ [][2]int) string {
			was.Line(part)
			return "  " + is.Line(part)
		}
		switch l[0] {
		case '-':
			number, from = from, from+1
			draw = func(part string, marks [][2]int) string {
				return changed(v.paint.Removed, v.paint.RemovedWord, "- ", was.Line(part), marks)
			}
		case '+':
			to++
			draw = func(part string, marks [][2]int) string {
				return changed(v.paint.Added, v.paint.AddedWord, "+ ", is.Line(part), marks)
			}
		default:
			from, to = from+1, to+1
		}
		lead := fmt.Sprintf("  %*d ", width, number)
		at := 0
		for part := range strings.SplitSeq(ansi.Hardwrap(shownCode(l), max(v.width-width-6, 8), true), "\n") {
			var marks [][2]int
			for _, w := range words[n] {
				marks = append(marks, [2]int{w[0] - at, w[1] - at})
			}
			lines = append(lines, v.paint.Dim.Of(lead)+draw(part, marks))
			lead = strings.Repeat(" ", len(lead))
			at += len([]rune(part))
		}
	}
	return lines
}

// shownCode is a line of a hunk as it is shown, without its mark.
func shownCode(l string) string { return visible.Blanks(visible.Cells(l[1:])) }

// changedWords are the parts of the lines of a hunk that differ from the line that was there, or
// that is there now, in characters. Lines are compared where as many were added as removed.
func changedWords(hunk []string) map[int][][2]int {
	list := map[int][][2]int{}
	for i := 0; i < len(hunk); i++ {
		removed, added := run(hunk, i, '-'), 0
		if added = run(hunk, i+removed, '+'); removed == 0 {
			continue
		}
		for n := range removed {
			if added != removed {
				break
			}
			list[i+n], list[i+removed+n] = wordsBetween(shownCode(hunk[i+n]), shownCode(hunk[i+removed+n]))
		}
		i += removed + added - 1
	}
	return list
}

// run is how many lines from one on begin with a mark.
func run(hunk []string, from int, mark byte) (n int) {
	for from+n < len(hunk) && hunk[from+n] != "" && hunk[from+n][0] == mark {
		n++
	}
	return n
}

// wordsBetween are the words of either line that the other lacks; none where the lines have little
// in common.
func wordsBetween(was, is string) (removed, added [][2]int) {
	x, y := wordsOf(was), wordsOf(is)
	const most = 400
	if len(x) > most || len(y) > most {
		return nil, nil
	}
	same, at, to := 0, 0, 0
	mark := func(list [][2]int, from, n int) [][2]int {
		if last := len(list) - 1; last >= 0 && list[last][1] == from {
			list[last][1] += n
			return list
		}
		return append(list, [2]int{from, from + n})
	}
	for _, e := range diff.Edits(x, y) {
		n := len([]rune(e.X)) // of what is removed or kept
		switch e.Op {
		case diff.Match:
			if strings.TrimSpace(e.X) != "" {
				same += n
			}
			at, to = at+n, to+n
		case diff.Delete:
			removed, at = mark(removed, at, n), at+n
		case diff.Insert:
			n = len([]rune(e.Y))
			added, to = mark(added, to, n), to+n
		}
	}
	if 3*same < min(at, to) {
		return nil, nil
	}
	return removed, added
}

// wordsOf takes a line apart into words, runs of blanks, and other characters.
func wordsOf(line string) (words []string) {
	kind := func(r rune) int {
		switch {
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	last := 0
	for _, r := range line {
		k := kind(r)
		if k == 0 || k != last {
			words = append(words, "")
		}
		words[len(words)-1] += string(r)
		last = k
	}
	return words
}

// changed lays a colour behind code that has colours of its own, and another behind some of it.
func changed(s, word style.Style, mark, text string, marks [][2]int) string {
	if s == "" {
		return mark + text
	}
	begin := "\x1b[" + string(s) + "m"
	var b strings.Builder
	b.WriteString(begin + mark)
	at, in := 0, false
	var state byte
	for len(text) > 0 {
		seq, width, n, next := ansi.DecodeSequence(text, state, nil)
		text, state = text[n:], next
		if width == 0 {
			b.WriteString(seq)
			if seq == "\x1b[0m" {
				b.WriteString(begin)
				if in {
					b.WriteString("\x1b[" + string(word) + "m")
				}
			}
			continue
		}
		now := false
		for _, m := range marks {
			now = now || at >= m[0] && at < m[1]
		}
		if now = now && word != ""; now && !in {
			b.WriteString("\x1b[" + string(word) + "m")
		} else if in && !now {
			b.WriteString("\x1b[24m" + begin) // 24: the mark of sixteen colours is a line below
		}
		in = now
		b.WriteString(seq)
		at += len([]rune(seq))
	}
	return b.String() + "\x1b[0m"
}
