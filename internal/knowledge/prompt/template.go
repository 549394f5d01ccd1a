package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/tool"
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

// errNoCalls is for sessions that cannot run what a template asks for.
var errNoCalls = errors.New("commands cannot be run here")

// Expand returns the text for one use. An error means that something which the
// text needs was not allowed or could not be run.
func (t *Template) Expand(ctx context.Context, u Use, calls Calls) (string, error) {
	if calls == nil {
		calls = func(context.Context, Request) (tool.Result, error) { return tool.Result{}, errNoCalls }
	}
	v := newValues(u, t.first)
	var out, own strings.Builder // own is what is not the output of a command
	for _, p := range t.parts {
		text := v.replace(p.text)
		if !p.command {
			out.WriteString(text)
			own.WriteString(text)
			continue
		}
		output, err := run(ctx, calls, u, text)
		if err != nil {
			return "", fmt.Errorf("could not run !`%s`: %w", text, err)
		}
		out.WriteString(output)
		own.WriteByte(' ')
	}
	if given := strings.TrimSpace(u.Arguments); given != "" && !v.used {
		out.WriteString("\n\nARGUMENTS: " + given)
		own.WriteString("\n\n" + given)
	}
	files, _, err := Mentioned(ctx, calls, u, own.String())
	return strings.TrimSpace(out.String()) + files, err
}

func run(ctx context.Context, calls Calls, u Use, command string) (string, error) {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "", err
	}
	r, err := calls(ctx, Request{Tool: "Bash", Input: input, Allow: u.Allow, Parent: u.Parent})
	return strings.TrimSpace(r.Text()), err
}
