package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/near"
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

// unknown describes a field that n does not have. Only the first one of an
// object lists what is allowed, and none past those that are shown gets a hint,
// so that a completely wrong input stays readable and cheap.
func (c *checker) unknown(path, name string, value any, n *node, first bool) Problem {
	if len(c.problems) >= maxProblems {
		return Problem{Path: join(path, cut(name))}
	}
	p := Problem{Path: join(path, cut(name)), Got: show(value)}
	switch canonical := n.alias[name]; {
	case canonical != "":
		p.Hint = fmt.Sprintf("It is another name for %s, which was sent too: send only %s.", canonical, canonical)
	case len(n.order) == 0:
		p.Hint = "No parameters are allowed here."
	default:
		p.Hint = strings.TrimSpace(near.Hint(name, n.order))
		if p.Hint == "" && first {
			p.Hint = "Allowed: " + strings.Join(n.order, ", ") + "."
		}
	}
	return p
}

// expected says in words what n wants.
func (n *node) expected() string {
	switch {
	case len(n.anyOf) > 0:
		forms := make([]string, len(n.anyOf))
		for i, form := range n.anyOf {
			forms[i] = form.expected()
		}
		return strings.Join(forms, ", or ")
	case len(n.enum) > 0:
		values := make([]string, len(n.enum))
		for i, e := range n.enum {
			values[i] = quote(e)
		}
		return "one of " + strings.Join(values, ", ")
	case n.kinds == 0:
		return "a value"
	}
	return n.kinds.String() + n.bounds()
}

func (n *node) bounds() string {
	var b string
	switch {
	case n.kinds&(integer|float) != 0:
		b = span(n.min, n.max, "")
	case n.kinds&text != 0 && (n.minLen > 0 || n.maxLen >= 0):
		b = span(lower(n.minLen), upper(n.maxLen), " characters")
	case n.kinds&array != 0 && (n.minLen > 0 || n.maxLen >= 0):
		b = span(lower(n.minLen), upper(n.maxLen), " items")
	case n.kinds&object != 0 && len(n.order) > 0:
		b = " with " + strings.Join(n.order, ", ")
	}
	if n.pattern != nil {
		b += " matching " + n.pattern.String()
	}
	return b
}

func lower(n int) float64 {
	if n == 0 {
		return math.Inf(-1)
	}
	return float64(n)
}

func upper(n int) float64 {
	if n < 0 {
		return math.Inf(1)
	}
	return float64(n)
}

// span says a range in words. With a unit it counts something, without it is a value.
func span(low, high float64, unit string) string {
	l, h := strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64)
	switch {
	case math.IsInf(low, -1) && math.IsInf(high, 1):
		return ""
	case math.IsInf(high, 1):
		return " of at least " + l + unit
	case math.IsInf(low, -1):
		return " of at most " + h + unit
	}
	if unit != "" {
		return " of " + l + " to " + h + unit
	}
	return " from " + l + " to " + h
}

func (n *node) field(name string) *node {
	if f := n.fields[name]; f != nil {
		return f
	}
	return new(node)
}

func (n *node) requires(name string) bool {
	for _, r := range n.required {
		if r == name {
			return true
		}
	}
	return false
}

// show says what a value of an input is: its type and its JSON.
func show(v any) string {
	if v == nil {
		return "null"
	}
	return kindOf(v).String() + " " + quote(v)
}

// quote is a value's JSON, cut to a readable length.
func quote(v any) string { return cut(string(marshal(v))) }

func cut(s string) string {
	if utf8.RuneCountInString(s) > maxShown {
		s = string([]rune(s)[:maxShown]) + "…"
	}
	return s
}

const maxShown = 80

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
