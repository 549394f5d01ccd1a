package lang

import "strings"

// A form is a format whose arguments are all %s: what is before, between and after them.
type form struct {
	text  Text
	parts []string
}

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
