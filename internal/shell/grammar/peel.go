package grammar

import "strings"

// A Peeled is what is left of a command that runs another one.
type Peeled struct {
	Words []Word // the command that is run
	Allow bool   // an allow rule may look through the wrapper
	Exact bool   // every flag of the wrapper was understood
}

// Peel takes the wrapper off a command such as "timeout 5 ls". Of a wrapper
// whose flags it does not understand it takes off the name and all that looks
// like a flag, which is good enough for rules that deny. It reports false if
// the command is no wrapper or wraps nothing.
func (t *Table) Peel(words []Word) (Peeled, bool) {
	if len(words) < 2 || !words[0].Known() {
		return Peeled{}, false
	}
	s, args := t.specs[words[0].Value], words[1:]
	for s != nil && s.wrap == nil && len(s.subs) > 0 && len(args) > 0 && args[0].Known() {
		s, args = s.subs[args[0].Value], args[1:]
	}
	if s == nil || s.wrap == nil {
		return Peeled{}, false
	}
	front := &form{flags: s.flags, style: posix, number: true}
	n, err := front.flagsLen(args)
	p := Peeled{Allow: s.wrap.allow, Exact: err == nil}
	if err != nil {
		n = guessFlags(s, args)
	}
	for i := n; i < n+s.wrap.skip && i < len(args); i++ {
		p.Exact = p.Exact && args[i].Known() // or it may become the program as well
	}
	n += s.wrap.skip
	for !s.wrap.allow && n < len(args) && (isAssignment(args[n].Value) || args[n].Value == "--") {
		n++
	}
	if n >= len(args) {
		return Peeled{}, false
	}
	p.Words = args[n:]
	return p, true
}

// guessFlags skips what looks like flags and the values of those it knows.
func guessFlags(s *spec, args []Word) int {
	n := 0
	for n < len(args) && strings.HasPrefix(args[n].Value, "-") {
		f, ok := s.flags[args[n].Value]
		n++
		if ok && f.arity == required {
			n++
		}
	}
	return n
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}
