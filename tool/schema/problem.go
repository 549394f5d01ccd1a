package schema

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/shorten"
)

// A Problem is one thing wrong with an input.
type Problem struct {
	Path     string // the field, such as edits[1].old_string; "" is the whole input
	Expected string // what the schema wants there; "" for a field that must not be there
	Got      string // what came, as JSON; "" if nothing did
	Hint     string // what to do about it, or what the field is for
}

func (p Problem) String() string {
	path := p.Path
	if path == "" {
		path = "input"
	}
	var b strings.Builder
	b.WriteString(path + ": ")
	switch {
	case p.Expected == "":
		b.WriteString("unknown parameter.")
	case p.Got == "":
		b.WriteString("required, but missing. Expected " + p.Expected + ".")
	default:
		b.WriteString("expected " + p.Expected + ", got " + p.Got + ".")
	}
	if p.Hint != "" {
		b.WriteString(" " + p.Hint)
	}
	return b.String()
}

// Invalid describes everything that is wrong with an input, and what a valid one looks like.
type Invalid struct {
	Problems []Problem
	view     *View
	sent     any
}

// Error is written for the model that sent the input.
func (e *Invalid) Error() string {
	var b strings.Builder
	if len(e.Problems) == 1 {
		b.WriteString("the input has a problem:")
	} else {
		fmt.Fprintf(&b, "the input has %d problems:", len(e.Problems))
	}
	for i, p := range e.Problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "\n- and %d more", len(e.Problems)-i)
			break
		}
		b.WriteString("\n- " + p.String())
	}
	if example := e.view.correct(e.sent); len(example) > len("{}") {
		b.WriteString("\nA correct input looks like this: " + string(example))
	}
	return b.String()
}

// maxProblems bounds a message about an input that is wrong everywhere.
const maxProblems = 12

// quote is a value's JSON, cut to a readable length.
func quote(v any) string { return cut(string(marshal(v))) }

func cut(s string) string { return shorten.To(s, maxShown+1) }

const maxShown = 80
