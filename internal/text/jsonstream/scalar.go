package jsonstream

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
