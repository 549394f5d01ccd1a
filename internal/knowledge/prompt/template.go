package prompt

import (
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
)

// A Template is a text with places for arguments and commands.
type Template struct {
	parts []part
	first int // the number of the first argument
}

// A part is text, or a command whose output takes its place.
type part struct {
	text    string
	command bool
}

// inline is !`command` at the beginning of a word, or a block that begins with
// ```! and holds commands.
var inline = lazyregexp.New("(?m)^```!\n((?s:.*?))\n```[ \t]*$|(?:^|[\\s(])(!`([^`\n]+)`)")

// fromZero tells texts that count arguments from $0 from those that count from $1:
// both are in use.
var fromZero = lazyregexp.New(`\$0(?:\D|$)`)

// Parse finds the commands in a text. What cannot be one is text: there is nothing
// to be wrong.
func Parse(text string) *Template {
	t := &Template{first: 1}
	if fromZero.MatchString(text) {
		t.first = 0
	}
	at := 0
	for _, m := range inline.Get().FindAllStringSubmatchIndex(text, -1) {
		begin, end, command := m[0], m[1], ""
		if m[2] >= 0 {
			command = text[m[2]:m[3]]
		} else {
			begin, end, command = m[4], m[5], text[m[6]:m[7]]
		}
		if strings.TrimSpace(command) == "" {
			continue
		}
		t.parts = append(t.parts, part{text: text[at:begin]}, part{text: strings.TrimSpace(command), command: true})
		at = end
	}
	t.parts = append(t.parts, part{text: text[at:]})
	return t
}

// Commands returns the commands that a use runs, as written.
func (t *Template) Commands() []string {
	var commands []string
	for _, p := range t.parts {
		if p.command {
			commands = append(commands, p.text)
		}
	}
	return commands
}
