package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/haftdev/haft/internal/front/tui/style"
)

// A wrapper lays spans out in lines.
type wrapper struct {
	width       int
	first, rest string

	lines []string
	line  strings.Builder
	used  int         // columns
	empty bool        // nothing but what stands before it is in the line
	space style.Style // of the blank that is due before the next word
	blank bool
	// group is a word that is not in the line yet, in pieces of one style.
	group []span
	wide  int // columns of it
	// run is text of one style that is not in the line yet.
	run  strings.Builder
	as   style.Style
	link string
}

// span adds the words of a span. A word may go on from the span before it.
func (w *wrapper) span(s span) {
	for text := s.text; text != ""; {
		if text[0] == ' ' {
			w.settle()
			text = strings.TrimLeft(text, " ")
			w.blank, w.space = true, s.style
			continue
		}
		n, wide := word(text)
		if wide {
			w.settle()
		}
		w.group = append(w.group, span{text[:n], s.style, s.link})
		w.wide += ansi.StringWidth(text[:n])
		if wide {
			w.settle()
		}
		text = text[n:]
	}
}

// word returns the length of the first word, and whether it is a wide character.
func word(text string) (n int, wide bool) {
	for i, r := range text {
		if r == ' ' {
			return i, false
		}
		if r >= 0x1100 && ansi.StringWidth(string(r)) > 1 {
			if i == 0 {
				return utf8.RuneLen(r), true
			}
			return i, false
		}
	}
	return len(text), false
}

// settle puts the word that is due into the line, or into the next one.
func (w *wrapper) settle() {
	if len(w.group) == 0 {
		return
	}
	gap := 0
	if w.blank && !w.empty {
		gap = 1
	}
	if !w.empty && w.used+gap+w.wide > w.width {
		w.next()
		gap = 0
	}
	if gap == 1 {
		w.put(" ", w.space, "", 1)
	}
	w.blank = false
	for _, piece := range w.group {
		w.piece(piece)
	}
	w.group, w.wide = w.group[:0], 0
}

// piece puts a part of a word into the line, and breaks one that is longer than
// lines are.
func (w *wrapper) piece(p span) {
	text, width := p.text, ansi.StringWidth(p.text)
	for w.used+width > w.width && width > 1 {
		head := ansi.Truncate(text, max(w.width-w.used, 1), "")
		if head == "" {
			break
		}
		w.put(head, p.style, p.link, ansi.StringWidth(head))
		text = text[len(head):]
		width = ansi.StringWidth(text)
		w.next()
	}
	w.put(text, p.style, p.link, width)
}

func (w *wrapper) put(text string, as style.Style, link string, width int) {
	if as != w.as || link != w.link {
		w.flush()
		w.as, w.link = as, link
	}
	w.run.WriteString(text)
	w.used += width
	w.empty = w.empty && text == ""
}

func (w *wrapper) flush() {
	if w.link != "" && w.run.Len() > 0 {
		w.line.WriteString("\x1b]8;;" + w.link + "\x1b\\" + w.as.Of(w.run.String()) + "\x1b]8;;\x1b\\")
	} else {
		w.line.WriteString(w.as.Of(w.run.String()))
	}
	w.run.Reset()
}

// next begins a new line.
func (w *wrapper) next() {
	w.flush()
	w.lines = append(w.lines, w.line.String())
	w.line.Reset()
	w.begin(w.rest)
}

func (w *wrapper) begin(prefix string) {
	w.line.WriteString(prefix)
	w.used, w.empty, w.blank = ansi.StringWidth(prefix), true, false
}
