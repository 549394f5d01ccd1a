package composer

import "github.com/haftdev/haft/internal/text/lang"

// selection is the part of the text that is selected in vim's visual mode, nothing if from
// is to.
func (c *Composer) selection() (from, to int) {
	v := c.vim
	if v == nil || v.visual == 0 {
		return 0, 0
	}
	from, to = min(v.anchor, c.at), max(v.anchor, c.at)
	if v.visual == 'v' {
		return from, min(to+1, len(c.text))
	}
	at := c.at
	defer func() { c.at = at }()
	c.at = from
	from = c.lineStart()
	c.at = to
	return from, c.lineEnd()
}

// vimVisual is a letter of visual mode that is neither a count nor a motion.
func (c *Composer) vimVisual(r rune) {
	v := c.vim
	switch r {
	case 'v', 'V':
		if v.visual == r {
			r = 0
		}
		v.visual = r
	case 'o':
		v.anchor, c.at = c.at, v.anchor
	case 'd', 'x', 'y', 'c', 's':
		op := map[rune]rune{'x': 'd', 's': 'c'}[r]
		if op == 0 {
			op = r
		}
		c.vimSelected(op)
	case 'p', 'P':
		put, lines := v.yanked, v.lines
		c.vimSelected('d')
		if put != nil {
			cut, cutLines := v.yanked, v.lines
			v.yanked, v.lines = put, lines
			c.vimPut(c.at == c.lineEnd() && c.at > c.lineStart(), 1)
			v.yanked, v.lines = cut, cutLines
		}
	}
}

// vimSelected does an operation on what is selected.
func (c *Composer) vimSelected(op rune) {
	v := c.vim
	from, to := c.selection()
	kind := v.visual
	v.visual = 0
	if kind == 'V' {
		c.vimLines(op, from, to, 0)
		return
	}
	c.vimOperate(op, from, to)
}

// A VimKey is what keys do in vim's normal and visual modes.
type VimKey struct {
	Keys []string
	Does lang.Text
}

// VimKeys are those there are.
func VimKeys() []VimKey {
	return []VimKey{
		{[]string{"h", "j", "k", "l"}, "left, down, up, right"},
		{[]string{"w", "b", "e"}, "to the next word, back a word, to the end of a word"},
		{[]string{"0", "^", "$"}, "to the start, the first non-blank character, the end of the line"},
		{[]string{"gg", "G"}, "to the first line, to the last; with a count, to that line"},
		{[]string{"f", "t", "F", "T", ";", ","}, "to a character in the line, to just before it, backwards; repeat, in reverse"},
		{[]string{"d", "c", "y"}, "cut, change or copy over a motion or a text object; dd cc yy act on lines"},
		{[]string{"x", "D", "C", "r"}, "cut a character, cut or change to the end of the line, replace a character"},
		{[]string{"p", "P"}, "insert the cut or copied text, after or before"},
		{[]string{"iw", "aw", "iW", "aW"}, "a word, without or with the spaces around it; after d, c, y or in visual mode"},
		{[]string{"i\"", "a\"", "i'", "a'", "i`", "a`"}, "quoted text, without or with the quotes"},
		{[]string{"i(", "a(", "i[", "a[", "i{", "a{", "i<", "a<"}, "text in brackets, without or with them"},
		{[]string{"v", "V", "o"}, "select characters or lines, go to the other end; d c y p act on the selection"},
		{[]string{"u", "ctrl+r"}, "undo, redo"},
		{[]string{"."}, "repeat the last change"},
		{[]string{"i", "a", "I", "A", "o", "O"}, "insert before, after, at the start or end of the line, in a new line below or above"},
	}
}
