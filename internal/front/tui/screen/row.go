package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A cell is a character of a row, how wide it is, and what it is drawn in: the sequences that set
// its colours and its link.
type cell struct {
	text  string
	width int
	pen   string
}

// cellsOf takes a line apart. It reports false for a line with characters in whose width terminals
// differ: such a line is drawn as a whole.
func cellsOf(line string) (cells []cell, ok bool) {
	var colours, link string
	var state byte
	for len(line) > 0 {
		seq, width, n, next := ansi.DecodeSequence(line, state, nil)
		line, state = line[n:], next
		switch {
		case width > 0:
			r, size := utf8.DecodeRuneInString(seq)
			if size != len(seq) || r >= 0x1f000 || r == utf8.RuneError {
				return nil, false
			}
			cells = append(cells, cell{seq, width, colours + link})
		case seq == "\x1b[0m" || seq == "\x1b[m":
			colours = ""
		case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m"):
			colours += seq
		case seq == closeLink:
			link = ""
		case strings.HasPrefix(seq, "\x1b]8;"):
			link = seq
		default:
			return nil, false
		}
	}
	return cells, true
}

// closeLink ends a link.
const closeLink = "\x1b]8;;\x1b\\"

func widthOf(cells []cell) (n int) {
	for _, c := range cells {
		n += c.width
	}
	return n
}

// commonEnd is how many lines are the same at the end of both.
func commonEnd(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
