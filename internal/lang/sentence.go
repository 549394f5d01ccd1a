package lang

import (
	"slices"
	"strings"
	"sync"
)

// Sentence is an English sentence that another layer built, such as the reason of a verdict,
// in the language of the catalogue. What was filled in stays as it is, unless it is such a
// sentence itself. A sentence that is not known stays English.
func (c *Catalogue) Sentence(english string) string {
	if c == nil {
		return english
	}
	if said, ok := c.built(english); ok {
		return said
	}
	for at := 0; ; at += len(": ") { // what it is about may come first
		i := strings.Index(english[at:], ": ")
		if i < 0 {
			return english
		}
		at += i
		// Only the forms are tried here, not Sentence: this loop already comes to every later ": ".
		if said, ok := c.built(english[at+len(": "):]); ok {
			return c.T("%s: %s", english[:at], said)
		}
	}
}

// built is a sentence that is one of the forms as a whole, with its arguments, in the language of the catalogue.
func (c *Catalogue) built(english string) (said string, ok bool) {
	for _, f := range forms() {
		if args, ok := f.match(english); ok {
			for i, arg := range args {
				args[i] = c.Sentence(arg.(string))
			}
			return c.T(f.text, args...), true
		}
	}
	return english, false
}

// A form is a format whose arguments are all %s: what is before, between and after them.
type form struct {
	text  Text
	parts []string
}

// forms are the sentences that are built, the most exact ones first.
var forms = sync.OnceValue(func() []form {
	var list []form
	for _, text := range built {
		list = append(list, form{text, strings.Split(string(text), "%s")})
	}
	slices.SortStableFunc(list, func(a, b form) int { return len(strings.Join(b.parts, "")) - len(strings.Join(a.parts, "")) })
	return list
})

// match returns what fills a form to make a sentence.
func (f form) match(s string) (args []any, ok bool) {
	last := len(f.parts) - 1
	s, ok = strings.CutPrefix(s, f.parts[0])
	if !ok || last == 0 {
		return nil, ok && s == ""
	}
	for _, part := range f.parts[1:last] {
		arg, rest, found := strings.Cut(s, part)
		if !found || arg == "" {
			return nil, false
		}
		args, s = append(args, arg), rest
	}
	arg, ok := strings.CutSuffix(s, f.parts[last])
	return append(args, arg), ok && arg != ""
}
