package rx

import (
	"slices"
	"strings"
)

// Literal is text that a match must contain.
type Literal struct {
	Text string
	// Fold means that the letters of Text stand for both cases of ASCII; k and s
	// then also stand for U+212A and U+017F, which a reader of bytes must allow for.
	Fold bool

	// loose marks text that was folded although part of it need not be.
	loose bool
}

// Clause is a set of literals of which every match contains at least one.
type Clause []Literal

const (
	maxLiterals = 24 // per clause
	maxLiteral  = 48 // bytes of one literal
)

// required lists clauses that all hold for every match of n. exact is the whole
// language of n when that is small and finite, else nil.
func required(n *node) (clauses []Clause, exact Clause) {
	switch n.op {
	case opEmpty, opLook:
		return nil, Clause{{}}
	case opByte:
		if n.set.size(1) == 1 {
			return nil, Clause{{Text: string([]byte{byte(n.set[0].lo)})}}
		}
	case opSet:
		return nil, exactSet(n.set)
	case opConcat:
		return requiredConcat(n.subs)
	case opAlt:
		return requiredAlt(n.subs)
	case opRepeat:
		return requiredRepeat(n)
	}
	return nil, nil
}

// exactSet spells a small class out.
func exactSet(s set) Clause {
	if len(s) == 0 || s.size(8) > 8 {
		return nil
	}
	var out Clause
	for _, r := range s {
		for c := r.lo; c <= r.hi; c++ {
			if 'A' <= c && c <= 'Z' && s.has(c+32) {
				continue // stands in the list as the folded lower case
			}
			if folded := kelvinOrLongS(c); folded != 0 && s.has(folded) && s.has(folded-32) {
				continue // likewise, see Literal.Fold
			}
			out = append(out, Literal{Text: string(c), Fold: 'a' <= c && c <= 'z' && s.has(c-32)})
		}
	}
	return out
}

// kelvinOrLongS gives the ASCII letter that a non-ASCII rune folds to, or 0.
func kelvinOrLongS(r rune) rune {
	switch r {
	case 0x212A:
		return 'k'
	case 0x17F:
		return 's'
	}
	return 0
}

func requiredConcat(subs []*node) (clauses []Clause, exact Clause) {
	run := Clause{{}}
	whole := true
	flush := func() {
		if usable(run) {
			clauses = append(clauses, run)
		}
		run, whole = Clause{{}}, false
	}
	for _, sub := range subs {
		inner, e := required(sub)
		if e == nil {
			flush()
			clauses = append(clauses, inner...)
			continue
		}
		next, ok := product(run, e)
		if !ok {
			flush()
			next = e
		}
		run = next
	}
	if whole {
		return nil, run
	}
	flush()
	return clauses, nil
}

// product joins every literal of a with every one of b, unless that grows too
// large.
func product(a, b Clause) (Clause, bool) {
	if len(a)*len(b) > maxLiterals {
		return nil, false
	}
	out := make(Clause, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x.Text)+len(y.Text) > maxLiteral {
				return nil, false
			}
			out = append(out, join(x, y))
		}
	}
	return out, true
}

// join concatenates. A folded part folds the whole: that asks for less, which is
// sound.
func join(x, y Literal) Literal {
	loose := x.loose || y.loose
	if x.Fold != y.Fold {
		loose = loose || !x.Fold && hasLetter(x.Text) || !y.Fold && hasLetter(y.Text)
		x.Text, y.Text = lowerASCII(x.Text), lowerASCII(y.Text)
	}
	return Literal{x.Text + y.Text, x.Fold || y.Fold, loose}
}

func hasLetter(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' })
}

// lowerASCII works on bytes: a literal need not be UTF-8.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 32
		}
	}
	return string(b)
}

func requiredAlt(subs []*node) (clauses []Clause, exact Clause) {
	var best Clause
	allExact, allUsable := true, true
	for _, sub := range subs {
		inner, e := required(sub)
		if e != nil {
			inner = []Clause{e}
			exact = append(exact, e...)
		} else {
			allExact = false
		}
		c := rarest(inner)
		allUsable = allUsable && c != nil
		best = append(best, c...)
	}
	switch {
	case allExact && len(exact) <= maxLiterals:
		return nil, exact
	case allUsable && len(best) <= 4*maxLiterals:
		return []Clause{best}, nil
	}
	return nil, nil
}

func requiredRepeat(n *node) (clauses []Clause, exact Clause) {
	if n.min == 0 {
		return nil, nil
	}
	inner, e := required(n.subs[0])
	if e == nil {
		return inner, nil
	}
	run, copies := e, 1
	for copies < n.min {
		next, ok := product(run, e)
		if !ok {
			break
		}
		run = next
		copies++
	}
	if n.max == copies {
		return nil, run
	}
	if !usable(run) {
		return nil, nil
	}
	return []Clause{run}, nil
}

// usable says whether a clause excludes anything: no empty literal.
func usable(c Clause) bool {
	return len(c) > 0 && !slices.ContainsFunc(c, func(l Literal) bool { return l.Text == "" })
}

// rarest picks the usable clause that should occur least often.
func rarest(clauses []Clause) Clause {
	var best Clause
	for _, c := range clauses {
		if usable(c) && (best == nil || clauseCost(c) < clauseCost(best)) {
			best = c
		}
	}
	return best
}
