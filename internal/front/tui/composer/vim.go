package composer

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/front/tui/key"
)

// A vim is how far a command of vim's keys is.
type vim struct {
	normal   bool
	count    int  // typed so far; 0 for none
	op       rune // d, c or y that waits for a motion; 0 for none
	opCount  int
	wait     rune // f, t, F, T, r, g, i or a that waits for a character; 0 for none
	visual   rune // v or V while something is selected, from anchor on; 0 for nothing
	anchor   int
	find     rune // the last of f, t, F, T
	findWhat rune
	yanked   []rune
	lines    bool // what was yanked are whole lines

	typed  []key.Key // of the command, and what it inserts
	change bool      // the command changes the text
	last   []key.Key // the last that did
}

// Vim switches vim's keys on or off. They begin with inserting.
func (c *Composer) Vim(on bool) {
	c.vim = nil
	if on {
		c.vim = &vim{}
	}
}

// VimMode is insert, normal or visual; "" without vim's keys.
func (c *Composer) VimMode() string {
	switch {
	case c.vim == nil:
		return ""
	case c.vim.visual != 0:
		return "visual"
	case c.vim.normal:
		return "normal"
	}
	return "insert"
}

// VimKey takes a key as vim does. It reports false for one that means the same as without.
func (c *Composer) VimKey(k key.Key) bool {
	v := c.vim
	switch {
	case v == nil:
		return false
	case !v.normal && k == (key.Key{Name: key.Escape}):
		v.normal = true
		v.typed = append(v.typed, k)
		c.vimDone()
		if c.at > c.lineStart() {
			c.move(c.left())
		}
		return true
	case !v.normal:
		if v.change {
			v.typed = append(v.typed, k)
		}
		return false
	case k == (key.Key{Name: key.Escape}) && (v.op != 0 || v.wait != 0 || v.count > 0 || v.visual != 0):
		v.op, v.wait, v.count, v.opCount, v.typed, v.visual = 0, 0, 0, 0, nil, 0
		return true
	case k == (key.Key{Rune: 'r', Ctrl: true}):
		for range max(v.count, 1) {
			c.redo()
		}
		v.op, v.wait, v.count, v.opCount, v.typed, v.visual = 0, 0, 0, 0, nil, 0
		return true
	case !k.Writes():
		return false
	}
	v.typed = append(v.typed, k)
	c.vimRune(k.Rune)
	v.anchor = min(v.anchor, len(c.text))
	if v.normal && v.op == 0 && v.wait == 0 && v.count == 0 && v.visual == 0 {
		c.vimDone()
	}
	if v.normal && c.at == c.lineEnd() && c.at > c.lineStart() {
		c.at = c.left() // the caret is on a character
	}
	return true
}

// redo returns to what was written before the last undo, unless something else was written
// since.
func (c *Composer) redo() {
	if len(c.redos) == 0 || !slices.Equal(c.text, c.undoneTo) {
		c.redos = nil
		return
	}
	next := c.redos[len(c.redos)-1]
	c.redos = c.redos[:len(c.redos)-1]
	c.keep()
	c.text, c.at, c.pastes = slices.Clone(next.text), min(next.at, len(next.text)), next.pastes
	c.undoneTo = slices.Clone(c.text)
}

// vimDone ends a command, which the dot repeats if it changed something.
func (c *Composer) vimDone() {
	v := c.vim
	if v.change {
		v.last = v.typed
	}
	v.typed, v.change = nil, false
}

// vimRune is a letter of a command.
func (c *Composer) vimRune(r rune) {
	v := c.vim
	switch {
	case v.wait != 0:
		c.vimCharacter(r)
		return
	case r >= '1' && r <= '9' || r == '0' && v.count > 0:
		v.count = min(v.count*10+int(r-'0'), 9999)
		return
	case strings.ContainsRune("ftFTg", r) || r == 'r' && v.op == 0 && v.visual == 0 || v.isObject(r):
		v.wait = r
		return
	case strings.ContainsRune("vV", r) && v.op == 0 && v.visual == 0:
		v.visual, v.anchor, v.count = r, c.at, 0
		return
	case strings.ContainsRune("dcy", r) && v.op == 0 && v.visual == 0:
		v.op, v.opCount, v.count = r, v.count, 0
		return
	}
	n, op := max(v.count, 1)*max(v.opCount, 1), v.op
	counted := v.count > 0 || v.opCount > 0
	v.count, v.opCount, v.op = 0, 0, 0
	switch {
	case op != 0 && r == op:
		c.vimLines(op, c.at, c.at, n-1)
	case op == 'c' && r == 'w' && c.at < len(c.text) && class(c.text[c.at]) != 0:
		c.vimMotion('E', op, n, counted) // the blanks after a word stay
	case c.vimMotion(r, op, n, counted), op != 0:
	case v.visual != 0:
		c.vimVisual(r)
	default:
		c.vimCommand(r, n)
	}
}

// isObject reports whether the letter begins the name of a text object.
func (v *vim) isObject(r rune) bool {
	return strings.ContainsRune("ia", r) && (v.op != 0 || v.visual != 0)
}

// vimCharacter is the character that a command waited for.
func (c *Composer) vimCharacter(r rune) {
	v := c.vim
	wait, op, n := v.wait, v.op, max(v.count, 1)*max(v.opCount, 1)
	counted := v.count > 0 || v.opCount > 0
	v.wait, v.op, v.count, v.opCount = 0, 0, 0, 0
	switch {
	case wait == 'g' && r == 'g':
		c.vimMotion('g', op, n, counted)
	case wait == 'g':
	case wait == 'i', wait == 'a':
		c.vimObject(r, op, wait == 'a')
	case wait == 'r':
		if c.at+n <= c.lineEnd() {
			c.vimChange()
			for i := range n {
				c.text[c.at+i] = r
			}
			c.at += n - 1
		}
	default:
		v.find, v.findWhat = wait, r
		c.vimMotion(wait, op, n, counted)
	}
}

// vimChange makes what follows something that undo and the dot know.
func (c *Composer) vimChange() {
	c.keep()
	c.text = slices.Clone(c.text)
	c.vim.change = true
}

// vimMotion moves, or does an operation over what it moves across. It reports false for a
// letter that is no motion.
func (c *Composer) vimMotion(r, op rune, n int, counted bool) bool {
	to, past, ok := c.motion(r, n, counted)
	if !ok {
		return false
	}
	if op == 0 {
		c.move(to)
		return true
	}
	if strings.ContainsRune("jkgG", r) {
		c.vimLines(op, min(c.at, to), max(c.at, to), 0)
		return true
	}
	from := min(c.at, to)
	to = max(c.at, to)
	if past {
		to = min(to+1, len(c.text))
	}
	if r == 'w' { // the last word's line end stays
		if i := slices.Index(c.text[from:to], '\n'); i >= 0 && n == 1 {
			to = from + i
		}
	}
	c.vimOperate(op, from, to)
	return true
}

// vimOperate yanks, cuts or changes a part of the text.
func (c *Composer) vimOperate(op rune, from, to int) {
	v := c.vim
	if from >= to && op != 'c' {
		return
	}
	v.yanked, v.lines = slices.Clone(c.text[from:to]), false
	c.at = from
	if op == 'y' {
		return
	}
	c.vimChange()
	c.cut(from, to)
	v.normal = op != 'c'
}

// vimLines does an operation on whole lines: those from one place to another, and more.
func (c *Composer) vimLines(op rune, from, to, more int) {
	v := c.vim
	c.at = from
	from = c.lineStart()
	c.at = to
	for range more {
		if end := c.lineEnd(); end < len(c.text) {
			c.at = end + 1
		}
	}
	to = c.lineEnd()
	c.at = from
	v.yanked, v.lines = slices.Clone(c.text[from:to]), true
	switch op {
	case 'c':
		c.vimChange()
		c.cut(from, to)
		v.normal = false
	case 'd':
		c.vimChange()
		switch {
		case to < len(c.text):
			to++
		case from > 0:
			from--
		}
		c.cut(from, to)
		c.at = min(from, len(c.text))
		c.at = c.lineStart()
	}
}

// vimCommand is a command that is no motion and no operation.
func (c *Composer) vimCommand(r rune, n int) {
	v := c.vim
	switch r {
	case 'x':
		c.vimOperate('d', c.at, min(c.at+n, c.lineEnd()))
	case 'D':
		c.vimOperate('d', c.at, c.lineEnd())
	case 'C':
		c.vimOperate('c', c.at, c.lineEnd())
	case 'p', 'P':
		c.vimPut(r == 'p', n)
	case 'u':
		for range n {
			c.undo()
		}
	case '.':
		c.vimAgain(n)
	case 'i', 'a', 'I', 'A', 'o', 'O':
		c.vimInsert(r)
		v.normal = false
	}
}

// vimInsert goes to where the text is inserted.
func (c *Composer) vimInsert(r rune) {
	c.vimChange()
	switch r {
	case 'a':
		c.at = min(c.at+1, c.lineEnd())
	case 'I':
		c.at, _, _ = c.motion('^', 1, false)
	case 'A':
		c.at = c.lineEnd()
	case 'o':
		c.at = c.lineEnd()
		c.insert([]rune{'\n'})
	case 'O':
		c.at = c.lineStart()
		c.insert([]rune{'\n'})
		c.at--
	}
}

// vimPut inserts what was yanked, after the caret or before it.
func (c *Composer) vimPut(after bool, n int) {
	v := c.vim
	const most = 1 << 20 // characters: a count is easily mistyped
	if v.yanked == nil || len(c.text)+len(v.yanked)*n > most {
		return
	}
	c.vimChange()
	text := slices.Repeat(v.yanked, n)
	if v.lines {
		text = []rune(strings.Repeat(string(v.yanked)+"\n", n))
		c.at = c.lineStart()
		if after {
			c.at = c.lineEnd()
			text = []rune(strings.Repeat("\n"+string(v.yanked), n))
		}
		from := c.at
		c.insert(text)
		c.at = from
		if after {
			c.at++
		}
		return
	}
	if after {
		c.at = min(c.at+1, c.lineEnd())
	}
	c.insert(text)
	c.at = max(c.at-1, 0)
}

// vimAgain repeats the last change.
func (c *Composer) vimAgain(n int) {
	v := c.vim
	again := v.last
	v.typed = nil
	for range n {
		for _, k := range again {
			if !c.VimKey(k) {
				c.Key(k)
			}
		}
	}
	v.typed, v.change, v.last = nil, false, again
}

// class is what kind of character a letter of a word is, for motions by words.
func class(r rune) int {
	switch {
	case r == ' ' || r == '\t' || r == '\n':
		return 0
	case isWord(r):
		return 1
	}
	return 2
}
