package awkscript

// brackets is the set of places where a reader of a regular expression may be:
// awk implementations differ in whether [:alpha:] is a class, whether ] right after
// [ stands for itself and whether a backslash means anything inside brackets. A slash
// ends the expression for all of them only where all are outside.
type brackets uint8

const (
	outside brackets = 1 << iota // of brackets
	opened                       // right after [
	negated                      // right after [^
	within                       // further inside
	entered                      // right after the bracket of [:, [. or [=
	class                        // further inside
	ending                       // after what may be the first half of :], .] or =]
)

// step takes one character; next is the one after it.
func (b brackets) step(c, next byte) brackets {
	var out brackets
	if b&outside != 0 {
		out |= choose(c == '[', opened, outside)
	}
	if b&(opened|negated) != 0 {
		switch {
		case c == ']':
			out |= within | outside
		case c == '^' && b&opened != 0:
			out |= negated | within
		default:
			out |= inside(c, next)
		}
	}
	if b&within != 0 {
		out |= choose(c == ']', outside, inside(c, next))
	}
	mark := c == ':' || c == '.' || c == '='
	if b&entered != 0 {
		out |= class
	}
	if b&class != 0 {
		out |= choose(mark, ending, class)
	}
	if b&ending != 0 {
		out |= choose(c == ']', within, choose(mark, ending, class))
	}
	return out
}

// escape takes a backslash and the character after it.
func (b brackets) escape(c byte) brackets {
	out := b & (outside | class)
	if b&(entered|ending) != 0 {
		out |= class
	}
	if b&(opened|negated|within) != 0 {
		out |= within
		if c == ']' {
			out |= outside // the backslash stood for itself
		}
	}
	return out
}

// inside returns where a character inside brackets leads to.
func inside(c, next byte) brackets {
	if c == '[' && (next == ':' || next == '.' || next == '=') {
		return within | entered
	}
	return within
}

func choose(ok bool, yes, no brackets) brackets {
	if ok {
		return yes
	}
	return no
}
