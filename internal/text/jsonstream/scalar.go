package jsonstream

// number reads on in a number. Only the byte after it shows that a number has ended,
// and that byte is then read as what follows a value.
func (m *machine) number(c byte) {
	if next, ok := numberState(m.state, c); ok {
		m.state = next
		return
	}
	switch m.state {
	case inZero, inInteger, inFraction, inPower:
		if m.state == inZero && isDigit(c) {
			m.failLeadingZero()
			return
		}
		m.endValue(m.pos)
		m.separator(c)
	default:
		m.failUnexpected(c)
	}
}

func (m *machine) failLeadingZero() {
	m.fail(Malformed, m.pos, "the number for "+place(m.path())+" has a leading zero", `Write the number without it.`)
}

// numberState returns the state after c, and false if c does not continue the number.
func numberState(s state, c byte) (state, bool) {
	switch s {
	case inMinus:
		if c == '0' {
			return inZero, true
		}
		return inInteger, isDigit(c)
	case inZero, inInteger:
		switch {
		case c == '.':
			return inPoint, true
		case c == 'e' || c == 'E':
			return inExponent, true
		}
		return inInteger, s == inInteger && isDigit(c)
	case inPoint:
		return inFraction, isDigit(c)
	case inFraction:
		if c == 'e' || c == 'E' {
			return inExponent, true
		}
		return inFraction, isDigit(c)
	case inExponent:
		if c == '+' || c == '-' {
			return inExponentSign, true
		}
	}
	return inPower, isDigit(c)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// beginLiteral takes the first letter of a literal; rest are the others.
func (m *machine) beginLiteral(rest string) {
	m.literal = rest
	m.state = inLiteral
}

func (m *machine) literalByte(c byte) {
	if c != m.literal[0] {
		m.failUnexpected(c)
		return
	}
	if m.literal = m.literal[1:]; m.literal == "" {
		m.endValue(m.pos + 1)
	}
}
