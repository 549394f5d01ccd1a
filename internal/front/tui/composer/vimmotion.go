package composer

import "slices"

// motion is where a motion of vim leads, n times, and whether what it leads to is part of
// what an operation is about.
func (c *Composer) motion(r rune, n int, counted bool) (to int, past, ok bool) {
	at := c.at
	defer func() { c.at = at }()
	switch r {
	case 'h':
		return max(c.at-n, c.lineStart()), false, true
	case 'l', ' ':
		return min(c.at+n, c.lineEnd()), false, true
	case '0':
		return c.lineStart(), false, true
	case '$':
		return max(c.lineEnd(), c.lineStart()), false, true
	case '^':
		to = c.lineStart()
		for to < c.lineEnd() && class(c.text[to]) == 0 {
			to++
		}
		return to, false, true
	case 'j', 'k':
		return c.vertical(r, n), false, true
	case 'g', 'G':
		return c.toLine(r, n, counted), false, true
	case 'w', 'b', 'e', 'E':
		for i := range n {
			if i > 0 && r == 'E' {
				r = 'e'
			}
			c.at = c.byWord(r)
		}
		return c.at, r == 'e' || r == 'E', true
	case ';', ',':
		find := c.vim.find
		if r == ',' {
			find = opposite(find)
		}
		to, ok = c.findIn(find, n, true)
		return to, find == 'f' || find == 't', ok
	case 'f', 't', 'F', 'T':
		to, ok = c.findIn(r, n, false)
		return to, r == 'f' || r == 't', ok
	}
	return 0, false, false
}

func opposite(find rune) rune {
	return map[rune]rune{'f': 'F', 'F': 'f', 't': 'T', 'T': 't'}[find]
}

// vertical is the same column, lines below or above.
func (c *Composer) vertical(r rune, n int) int {
	column := c.at - c.lineStart()
	for range n {
		switch {
		case r == 'j' && c.lineEnd() < len(c.text):
			c.at = c.lineEnd() + 1
		case r == 'k' && c.lineStart() > 0:
			c.at = c.lineStart() - 1
		}
	}
	return min(c.lineStart()+column, c.lineEnd())
}

// toLine is the beginning of a line by its number, of the first (g) or of the last (G).
func (c *Composer) toLine(r rune, n int, counted bool) int {
	if r == 'G' && !counted {
		c.at = len(c.text)
		return c.lineStart()
	}
	c.at = 0
	for range n - 1 {
		if end := c.lineEnd(); end < len(c.text) {
			c.at = end + 1
		}
	}
	return c.at
}

// byWord is one word on (w), to the end of one (e), or back (b).
func (c *Composer) byWord(r rune) int {
	i := c.at
	switch r {
	case 'w':
		for k := i; i < len(c.text) && class(c.text[i]) != 0 && class(c.text[i]) == class(c.text[k]); {
			i++
		}
		for i < len(c.text) && class(c.text[i]) == 0 {
			i++
		}
	case 'e', 'E': // E is the end of this word, even if it is here
		if r == 'e' {
			i++
		}
		for i < len(c.text) && class(c.text[i]) == 0 {
			i++
		}
		for i+1 < len(c.text) && class(c.text[i+1]) == class(c.text[i]) {
			i++
		}
		i = min(i, max(len(c.text)-1, 0))
	case 'b':
		for i > 0 && class(c.text[i-1]) == 0 {
			i--
		}
		for k := i - 1; i > 0 && class(c.text[i-1]) == class(c.text[k]); {
			i--
		}
	}
	return i
}

// findIn is where the character that was looked for last is in the line, for the n-th time;
// again passes the one that the caret is beside.
func (c *Composer) findIn(find rune, n int, again bool) (to int, ok bool) {
	start, end := c.lineStart(), c.lineEnd()
	what := c.vim.findWhat
	to = c.at
	for i := range n {
		switch find {
		case 'f', 't':
			from := to + 1
			if find == 't' && again && i == 0 && from < end && c.text[from] == what {
				from++ // before it already
			}
			if from > end {
				return 0, false
			}
			at := slices.Index(c.text[from:end], what)
			if at < 0 {
				return 0, false
			}
			to = from + at
		case 'F', 'T':
			before := to
			if find == 'T' && again && i == 0 && before > start && c.text[before-1] == what {
				before--
			}
			at := lastIndex(c.text[start:before], what)
			if at < 0 {
				return 0, false
			}
			to = start + at
		default:
			return 0, false
		}
	}
	switch find {
	case 't':
		to--
	case 'T':
		to++
	}
	return to, true
}

func lastIndex(text []rune, r rune) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == r {
			return i
		}
	}
	return -1
}
