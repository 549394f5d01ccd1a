package cli

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// foldedPieces is a writer for text that arrives in pieces, such as what a model writes: a
// terminal gets lines that end between words, anything else gets them as they are.
func foldedPieces(w io.Writer) io.Writer {
	if width := terminalWidth(w); width > 0 {
		return &pieceFolder{w: w, width: width}
	}
	return w
}

// A pieceFolder holds a word back until its end is written, because only then is it known
// whether the word fits on the line.
type pieceFolder struct {
	w      io.Writer
	width  int
	column int    // where the line that was begun ends
	blanks string // after its last word, which are not written at the end of a line
	held   string
}

func (f *pieceFolder) Write(p []byte) (int, error) {
	var b strings.Builder
	text := f.held + string(p)
	f.held = ""
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if ended && f.column == 0 && f.blanks == "" {
			b.WriteString(strings.Join(fold(line, f.width), "\n") + "\n")
			continue
		}
		f.words(&b, line, ended)
		if ended {
			b.WriteByte('\n')
			f.column, f.blanks = 0, ""
		}
	}
	if _, err := io.WriteString(f.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// words writes the words of a part of a line. The last one may continue unless the line has ended.
func (f *pieceFolder) words(b *strings.Builder, text string, ended bool) {
	start := 0
	for i, r := range text {
		switch {
		case r == ' ':
			f.word(b, text[start:i])
			f.blanks += " "
			start = i + 1
		case r >= wideFrom: // a line may end after any of these
			end := i + len(string(r))
			f.word(b, text[start:end])
			start = end
		}
	}
	if ended {
		f.word(b, text[start:])
	} else {
		f.held = text[start:]
	}
}

func (f *pieceFolder) word(b *strings.Builder, word string) {
	if word == "" {
		return
	}
	width := ansi.StringWidth(word)
	if f.column > 0 && f.column+len(f.blanks)+width > f.width {
		b.WriteByte('\n')
		f.column, f.blanks = 0, ""
	}
	b.WriteString(f.blanks + word)
	f.column += len(f.blanks) + width
	f.blanks = ""
}
