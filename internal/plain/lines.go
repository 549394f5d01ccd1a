package plain

import (
	"fmt"
	"io"
	"strings"

	"github.com/haftdev/haft/internal/visible"
)

type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// line prints one line of its own.
func (p *Printer) line(s style, format string, args ...any) {
	p.breakLine()
	text := fmt.Sprintf(format, args...)
	if p.opts.Color {
		text = "\x1b[" + string(s) + "m" + text + "\x1b[0m"
	}
	p.print(text + "\n")
}

// breakLine ends the model's text if it stands in the middle of a line.
func (p *Printer) breakLine() {
	if p.said {
		p.said = false
		p.print("\n")
	}
}

func (p *Printer) print(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, s)
	}
}

// visibleText is text of several lines that cannot move the cursor or hide.
func visibleText(s string) string {
	return visible.Prose(strings.ReplaceAll(s, "\t", "    "))
}
