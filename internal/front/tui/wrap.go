package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/wrap"
)

// hardWrap is [wrap.Lines].
func hardWrap(s string, width int) []string { return wrap.Lines(s, width) }

// hangingWrap is hardWrap whose lines after the first are indented more than it, so that
// what follows is not taken for another line of a list or a table.
func hangingWrap(s string, width int) []string {
	if ansi.StringWidth(s) <= width {
		return []string{s}
	}
	rest := strings.TrimLeft(s, " ")
	indent := s[:min(len(s)-len(rest), width/2)]
	var lines []string
	for _, l := range hardWrap(rest, width-len(indent)-2) {
		if len(lines) > 0 {
			l = "  " + l
		}
		lines = append(lines, indent+l)
	}
	return lines
}

// footer is what keys do, as many of the parts as fit into a line, the first ones first: half
// a hint is none.
func footer(width int, parts ...string) string {
	line := ""
	for i, p := range parts {
		next := line + p
		if i > 0 {
			next = line + " · " + p
		}
		if i > 0 && ansi.StringWidth(next) > width {
			break
		}
		line = next
	}
	return cut(line, width)
}
