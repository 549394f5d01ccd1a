package composer

import (
	"slices"
	"strings"
)

// brackets are the pairs that a text object may be between, by all names of it.
var brackets = map[rune][2]rune{
	'(': {'(', ')'}, ')': {'(', ')'}, 'b': {'(', ')'}, '[': {'[', ']'}, ']': {'[', ']'},
	'{': {'{', '}'}, '}': {'{', '}'}, 'B': {'{', '}'}, '<': {'<', '>'}, '>': {'<', '>'},
}

// vimObject takes the text object with a name: an operation is done with it, visual mode
// selects it.
func (c *Composer) vimObject(name, op rune, around bool) {
	from, to, ok := c.object(name, around)
	switch v := c.vim; {
	case !ok:
	case v.visual != 0 && from < to:
		v.visual, v.anchor, c.at = 'v', from, to-1
	case v.visual == 0:
		c.vimOperate(op, from, to)
	}
}

// object is the text object with a name around the caret: a word, what is quoted, what is
// between brackets. With around, what sets it off belongs to it.
func (c *Composer) object(name rune, around bool) (from, to int, ok bool) {
	switch {
	case c.at >= len(c.text):
		return 0, 0, false
	case name == 'w' || name == 'W':
		from, to = c.wordObject(name == 'W', around)
		return from, to, from < to
	case strings.ContainsRune("\"'`", name):
		return c.quoted(name, around)
	}
	pair, ok := brackets[name]
	if !ok {
		return 0, 0, false
	}
	return c.enclosed(pair[0], pair[1], around)
}

// wordObject is the word at the caret, or the blanks there. Blanks after a word belong to
// it, or those before it if there are none.
func (c *Composer) wordObject(big, around bool) (from, to int) {
	kind := func(i int) int {
		if k := class(c.text[i]); !big || k == 0 {
			return k
		}
		return 1
	}
	start, end := c.lineStart(), c.lineEnd()
	if c.at == end {
		return c.at, c.at
	}
	extend := func(i int) int {
		for k := i; i < end && kind(i) == kind(k); {
			i++
		}
		return i
	}
	from = c.at
	for from > start && kind(from-1) == kind(c.at) {
		from--
	}
	to = extend(c.at)
	switch {
	case !around:
	case kind(c.at) == 0 && to < end: // the blanks and the word after them
		to = extend(to)
	case to < end && kind(to) == 0:
		to = extend(to)
	default:
		for from > start && kind(from-1) == 0 {
			from--
		}
	}
	return from, to
}

// quoted is what is between two quotes of the line, the pair around the caret or the next
// one after it.
func (c *Composer) quoted(quote rune, around bool) (from, to int, ok bool) {
	var marks []int
	for i := c.lineStart(); i < c.lineEnd(); i++ {
		switch c.text[i] {
		case '\\':
			i++ // what follows is not a quote
		case quote:
			marks = append(marks, i)
		}
	}
	for i := 0; i+1 < len(marks); i += 2 {
		if c.at > marks[i+1] {
			continue
		}
		from, to = marks[i]+1, marks[i+1]
		if around {
			from, to = from-1, to+1
			for to < c.lineEnd() && class(c.text[to]) == 0 {
				to++
			}
		}
		return from, to, true
	}
	return 0, 0, false
}

// enclosed is what is between the brackets around the caret.
func (c *Composer) enclosed(open, shut rune, around bool) (from, to int, ok bool) {
	from, depth := c.at, 0
	if c.text[c.at] == shut {
		from--
	}
	for ; from >= 0; from-- {
		if c.text[from] == shut {
			depth++
		}
		if c.text[from] != open {
			continue
		}
		if depth == 0 {
			break
		}
		depth--
	}
	if from < 0 {
		return 0, 0, false
	}
	depth = 0
	i := slices.IndexFunc(c.text[from:], func(r rune) bool {
		switch r {
		case open:
			depth++
		case shut:
			depth--
		}
		return depth == 0
	})
	if i < 0 {
		return 0, 0, false
	}
	if to = from + i; around {
		return from, to + 1, true
	}
	return from + 1, to, true
}
