package rx

import "strings"

// classBody reads up to the closing ']' and applies negation and folding. The set
// operators have equal precedence and group to the left.
func (p *parser) classBody(at int) set {
	if p.depth++; p.depth > maxDepth {
		p.fail(at, "character classes are nested too deeply", "")
	}
	defer func() { p.depth-- }()
	p.space()
	negated := p.accept("^")
	var acc set
	operate := func(_, b set) set { return b }
	items, first := set(nil), true
	for {
		p.space()
		if !p.more() {
			p.fail(at, "unclosed character class", `Write \[ for a literal bracket.`)
		}
		switch {
		case !first && p.accept("]"):
			acc = operate(acc, p.folded(normalize(items)))
			if negated {
				acc = acc.negate(p.top())
			}
			return acc
		case p.accept("&&"):
			acc = operate(acc, p.folded(normalize(items)))
			operate, items = set.intersect, nil
		case p.accept("--"):
			if first { // leading dashes are literal
				items = append(items, span{'-', '-'})
				break
			}
			acc = operate(acc, p.folded(normalize(items)))
			operate, items = set.minus, nil
		case p.accept("~~"):
			acc = operate(acc, p.folded(normalize(items)))
			operate, items = symmetric, nil
		default:
			items = append(items, p.classItem(at)...)
		}
		first = false
	}
}

func symmetric(a, b set) set { return a.union(b).minus(a.intersect(b)) }

// classItem reads one element: a nested class, an escape class, a character or a
// range.
func (p *parser) classItem(at int) set {
	if p.looking("[:") {
		if s, ok := p.posix(); ok {
			return s
		}
	}
	if p.accept("[") {
		return p.classBody(p.pos - 1)
	}
	start := p.pos
	if p.accept(`\`) {
		if s, ok := p.classEscape(start); ok {
			return s
		}
		p.pos = start
	}
	lo := p.classChar()
	p.space()
	if !p.looking("-") || p.looking("-]") || p.looking("--") {
		return set{{lo, lo}}
	}
	p.pos++
	p.space()
	if !p.more() {
		p.fail(at, "unclosed character class", "")
	}
	hi := p.classChar()
	if hi < lo {
		p.fail(start, "character range in reverse order", "")
	}
	return set{{lo, hi}}
}

func (p *parser) classChar() rune {
	at := p.pos
	r := p.next()
	if r == '\\' {
		if p.looking("b") { // \b is no assertion in a class, and no backspace either
			p.fail(at, `\b is not supported in a character class`, "")
		}
		r, _ = p.charEscape(at)
	}
	if r == '\n' && p.lineMode {
		p.fail(at, "line break without multiline", "Set multiline to true to match across lines.")
	}
	return r
}

// posix reads [:name:] or [:^name:]; anything else is left to be a nested class.
func (p *parser) posix() (set, bool) {
	end := strings.Index(p.rest(), ":]")
	if end < 0 {
		return nil, false
	}
	name := p.rest()[2:end]
	negated := strings.HasPrefix(name, "^")
	s, ok := posixSets[strings.TrimPrefix(name, "^")]
	if !ok {
		return nil, false
	}
	p.pos += end + 2
	if negated {
		s = s.negate(p.top())
	}
	return s, true
}
