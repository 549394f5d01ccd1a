package cli

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/haftdev/haft/internal/front/tui/wrap"
	"golang.org/x/term"
)

func foldedTo(w io.Writer) io.Writer {
	if width := terminalWidth(w); width > 0 {
		return &folder{w: w, width: width}
	}
	return w
}

// terminalWidth is the width of a terminal; 0 for anything else.
func terminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < leastWidth {
		return 0
	}
	return width
}

// leastWidth is the width below which a terminal breaks lines as well as we could.
const leastWidth = 20

// A folder breaks the lines that are written through it. A line that is written in parts is
// broken in the part that begins it.
type folder struct {
	w      io.Writer
	width  int
	inLine bool
}

func (f *folder) Write(p []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		text, ended := strings.CutSuffix(line, "\n")
		if f.inLine {
			b.WriteString(text)
		} else {
			b.WriteString(strings.Join(fold(text, f.width), "\n"))
		}
		if f.inLine = !ended; ended {
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(f.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fold breaks a line at blanks. What follows is indented so far that it is not taken for
// another line: below the text of a table's row or of an item, else as the line itself.
func fold(line string, width int) []string {
	if ansi.StringWidth(line) <= width {
		return []string{line}
	}
	if colour, text, ok := strings.Cut(line, "m"); ok && strings.HasPrefix(colour, "\x1b[") && strings.HasSuffix(text, uncoloured) {
		lines := fold(strings.TrimSuffix(text, uncoloured), width)
		lines[0] = colour + "m" + lines[0]
		lines[len(lines)-1] += uncoloured
		return lines
	}
	at := hang(line, width)
	head, rest := line[:at], line[at:]
	indent := ansi.StringWidth(head)
	var lines []string
	for _, part := range wrap.Lines(rest, width-indent) {
		lines = append(lines, head+part)
		head = strings.Repeat(" ", indent)
	}
	if end := line[len(strings.TrimRight(line, " ")):]; end != "" && !strings.HasSuffix(lines[len(lines)-1], end) {
		lines[len(lines)-1] += end // of a prompt, after which the user types
	}
	return lines
}

// uncoloured ends what a colour begins.
const uncoloured = "\x1b[0m"

// hang is where the text of a line begins that its other lines are put below.
func hang(line string, width int) int {
	start := len(line) - len(strings.TrimLeft(line, " "))
	at := start
	for range 2 { // a number or a mark, then a name
		word, after, found := strings.Cut(line[at:], "  ")
		if !found || word == "" {
			break
		}
		at = len(line) - len(strings.TrimLeft(after, " "))
	}
	if mark, _, found := strings.Cut(line[start:], " "); found && at == start && ansi.StringWidth(mark) == 1 && strings.Trim(mark, "✓✗!→-•·▸…—") == "" {
		at = start + len(mark) + 1
	}
	if ansi.StringWidth(line[:at]) > width/2 {
		return min(start, width/2)
	}
	return at
}
