// Package composer is where a person writes: an editor of a few lines, with a
// history and a memory for pastes.
//
//	c := composer.New(history)
//	c.Key(k)            // edits; reports false for a key that is not an edit
//	c.Paste(text)
//	lines, row, col := c.View(width, mark)
//	text := c.Take()    // what was written, pastes filled in
//
// A long paste is shown as a mark of one line and filled in when it is taken. A
// Composer belongs to one goroutine.
package composer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/key"
)

// A Composer is a text that is being written.
type Composer struct {
	text   []rune
	at     int // the caret
	kill   []rune
	pastes []string // by number, from 1

	history []string
	back    int    // how far in the history; 0 is the text of now
	draft   string // the text of now while an older one is shown

	undos []undone // what was written before each edit, oldest first
	redos []undone // what was undone, the last one last
	// undoneTo is what undo or redo made of the text.
	undoneTo []rune

	vim    *vim // nil without vim's keys
	typing int  // where the caret is if the last edit wrote a letter of a word; else -1
}

// New returns an empty composer with what was written before, oldest first.
func New(history []string) *Composer { return &Composer{history: history, typing: -1} }

// Text returns what is written, as it is shown.
func (c *Composer) Text() string { return string(c.text) }

// Empty reports whether nothing is written.
func (c *Composer) Empty() bool { return len(c.text) == 0 }

// Before returns what is written before the caret.
func (c *Composer) Before() string { return string(c.text[:c.at]) }

// Set replaces what is written.
func (c *Composer) Set(text string) {
	c.keep()
	c.text = []rune(text)
	c.at = len(c.text)
	c.back = 0
}

// Take returns what is written, with pastes in their places, and clears it.
func (c *Composer) Take() string {
	text := c.Filled()
	c.Set("")
	c.pastes = nil
	c.Vim(c.vim != nil) // which begins with inserting
	return text
}

// Filled returns what is written, with pastes in their places.
func (c *Composer) Filled() string {
	text := string(c.text)
	for i, p := range c.pastes {
		text = strings.Replace(text, mark(i+1, p), p, 1)
	}
	return text
}

// Remember adds to the history.
func (c *Composer) Remember(text string) {
	if n := len(c.history); text != "" && (n == 0 || c.history[n-1] != text) {
		c.history = append(c.history, text)
	}
}

// Remembered returns the history, oldest first. It is not to be modified.
func (c *Composer) Remembered() []string { return c.history }

// Pastes of more lines or characters than these are shown as a mark.
const (
	pasteLines = 6
	pasteRunes = 600
)

// Paste adds text that was pasted.
func (c *Composer) Paste(text string) {
	c.keep()
	if lines := strings.Count(text, "\n") + 1; lines > pasteLines || len(text) > pasteRunes {
		c.pastes = append(c.pastes, text)
		text = mark(len(c.pastes), text)
	}
	c.insert([]rune(text))
}

func mark(n int, text string) string {
	return fmt.Sprintf("[pasted text %d, %d lines]", n, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
}

// Insert writes text at the caret.
func (c *Composer) Insert(text string) {
	c.keep()
	c.insert([]rune(text))
}

func (c *Composer) insert(text []rune) {
	clean := text[:0:0]
	for _, r := range text {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Mn, unicode.Zs) {
			clean = append(clean, r)
		}
	}
	c.move(c.at) // never into a mark
	c.text = append(c.text[:c.at:c.at], append(clean, c.text[c.at:]...)...)
	c.at += len(clean)
}

// Replace puts text in the place of the n characters before the caret.
func (c *Composer) Replace(n int, text string) {
	c.keep()
	c.cut(max(c.at-n, 0), c.at)
	c.insert([]rune(text))
}

// marks are where pastes are shown as marks, from and to. A mark is one thing: it
// is passed, and taken out, as a whole.
func (c *Composer) marks() [][2]int {
	var found [][2]int
	for i, p := range c.pastes {
		m := mark(i+1, p)
		before, _, ok := strings.Cut(string(c.text), m)
		if from := len([]rune(before)); ok {
			found = append(found, [2]int{from, from + len([]rune(m))})
		}
	}
	return found
}

// move puts the caret somewhere, or past the mark that is there.
func (c *Composer) move(to int) {
	to = min(max(to, 0), len(c.text))
	for _, m := range c.marks() {
		if to <= m[0] || to >= m[1] {
			continue
		}
		if to < c.at {
			to = m[0]
		} else {
			to = m[1]
		}
	}
	c.at = to
}

// cut takes characters out, and all of a mark that they are part of.
func (c *Composer) cut(from, to int) {
	from, to = max(from, 0), min(to, len(c.text))
	if from >= to {
		return
	}
	for _, m := range c.marks() {
		if from < m[1] && m[0] < to {
			from, to = min(from, m[0]), max(to, m[1])
		}
	}
	c.text = append(c.text[:from:from], c.text[to:]...)
	c.at = from
}

// killed takes characters out that can be had back.
func (c *Composer) killed(from, to int) {
	if from >= to {
		return
	}
	before, after := len(c.text), append([]rune(nil), c.text...)
	c.cut(from, to)
	c.kill = after[c.at : c.at+before-len(c.text)]
}

func (c *Composer) wordLeft() int {
	i := c.at
	for i > 0 && !isWord(c.text[i-1]) {
		i--
	}
	for i > 0 && isWord(c.text[i-1]) {
		i--
	}
	return i
}

func (c *Composer) wordRight() int {
	i := c.at
	for i < len(c.text) && !isWord(c.text[i]) {
		i++
	}
	for i < len(c.text) && isWord(c.text[i]) {
		i++
	}
	return i
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func (c *Composer) lineStart() int {
	i := c.at
	for i > 0 && c.text[i-1] != '\n' {
		i--
	}
	return i
}

func (c *Composer) lineEnd() int {
	i := c.at
	for i < len(c.text) && c.text[i] != '\n' {
		i++
	}
	return i
}

// Key makes an edit. It reports false for a key that is none.
func (c *Composer) Key(k key.Key) bool {
	if k.Writes() {
		if !c.inWord(k.Rune) {
			c.keep()
		}
		c.insert([]rune{k.Rune})
		c.typing = -1
		if isWord(k.Rune) {
			c.typing = c.at
		}
		return true
	}
	name := k.String()
	for _, e := range Edits() {
		if slices.Contains(e.Keys, name) {
			if e.Keys[0] != "ctrl+_" {
				c.keep()
			}
			e.do(c)
			return true
		}
	}
	return false
}

// keep makes what is written something that can be returned to.
func (c *Composer) keep() {
	c.typing = -1
	if n := len(c.undos); n > 0 && slices.Equal(c.undos[n-1].text, c.text) {
		c.undos[n-1].at = c.at
		return
	}
	if len(c.undos) == maxUndo {
		c.undos = c.undos[1:]
	}
	c.undos = append(c.undos, undone{slices.Clone(c.text), c.at, slices.Clone(c.pastes)})
}

// undo returns to what was written before the last edit; letters of a word are one.
func (c *Composer) undo() {
	for len(c.undos) > 0 {
		last := c.undos[len(c.undos)-1]
		c.undos = c.undos[:len(c.undos)-1]
		if slices.Equal(last.text, c.text) {
			continue
		}
		if !slices.Equal(c.text, c.undoneTo) {
			c.redos = nil // something else was written since
		}
		c.redos = append(c.redos, undone{c.text, c.at, c.pastes})
		c.text, c.at, c.pastes, c.typing, c.back = last.text, last.at, last.pastes, -1, 0
		c.undoneTo = slices.Clone(c.text)
		return
	}
}

// inWord reports whether a letter continues the word that is being typed.
func (c *Composer) inWord(r rune) bool { return c.typing == c.at && isWord(r) }

// left and right are where the characters beside the caret begin and end, as the screen
// shows them.
func (c *Composer) left() int {
	i := c.lineStart()
	if i == c.at {
		return c.at - 1
	}
	for {
		next := i + len(c.cluster(i))
		if next >= c.at {
			return i
		}
		i = next
	}
}

func (c *Composer) right() int {
	if c.at == len(c.text) || unicode.IsControl(c.text[c.at]) {
		return c.at + 1
	}
	return c.at + len(c.cluster(c.at))
}

// Up moves the caret up by a line, or to an older text of the history from the
// first one. It reports false at the end of both.
func (c *Composer) Up() bool {
	if start := c.lineStart(); start > 0 {
		column := c.at - start
		c.at = start - 1
		c.at = min(c.lineStart()+column, start-1)
		return true
	}
	return c.recall(c.back + 1)
}

// Down moves the caret down by a line, or to a newer text.
func (c *Composer) Down() bool {
	if end := c.lineEnd(); end < len(c.text) {
		column := c.at - c.lineStart()
		c.at = end + 1
		c.at = min(c.at+column, c.lineEnd())
		return true
	}
	return c.recall(c.back - 1)
}

// recall shows a text of the history.
func (c *Composer) recall(back int) bool {
	if back < 0 || back > len(c.history) {
		return false
	}
	if c.back == 0 {
		c.draft = string(c.text)
	}
	text := c.draft
	if back > 0 {
		text = c.history[len(c.history)-back]
	}
	c.Set(text)
	c.back = back
	return true
}

// View returns the text in lines of at most width columns, broken between words, with what is
// selected set off by mark, and where the caret is in them.
func (c *Composer) View(width int, mark func(string) string) (lines []string, row, col int) {
	width = max(width, 2)
	from, to := c.selection()
	ends := c.breaks(width)
	start := 0
	for n, end := range ends {
		var line strings.Builder
		used := 0
		last := n == len(ends)-1
		for i := start; i < end; {
			cluster := c.cluster(i)
			if c.at >= i && c.at < i+len(cluster) { // within what is shown as one
				row, col = n, used
			}
			if cluster[0] == '\n' {
				break
			}
			shown := strings.ReplaceAll(string(cluster), "\t", "    ")
			w := ansi.StringWidth(shown)
			if used+w <= width { // else it is the blank at which the line was broken
				if i >= from && i < to && mark != nil {
					shown = mark(shown)
				}
				line.WriteString(shown)
				used += w
			}
			i += len(cluster)
		}
		if last && c.at == len(c.text) {
			row, col = n, used
		}
		lines = append(lines, line.String())
		start = end
	}
	if col >= width { // the caret stands after a full line
		row, col = row+1, 0
		if row == len(lines) {
			lines = append(lines, "")
		}
	}
	return lines, row, col
}

// breaks are where the lines end: after a line feed, after a blank or beside a character of double
// width if the next word has no room, or within a word that is longer than a line.
func (c *Composer) breaks(width int) (ends []int) {
	start, used := 0, 0
	between := 0 // where the line can be broken
	for i := 0; i < len(c.text); {
		cluster := c.cluster(i)
		if cluster[0] == '\n' {
			i++
			ends = append(ends, i)
			start, used, between = i, 0, i
			continue
		}
		w := ansi.StringWidth(strings.ReplaceAll(string(cluster), "\t", "    "))
		if w > 1 && cluster[0] != '\t' {
			between = i
		}
		blank := cluster[0] == ' ' || cluster[0] == '\t'
		if used+w > width && !(blank && used <= width) {
			if between <= start {
				between = i
			}
			ends = append(ends, between)
			start = between
			used = 0
			i = start
			between = start
			continue
		}
		used += w
		i += len(cluster)
		if blank || w > 1 {
			between = i
		}
	}
	return append(ends, len(c.text))
}

// cluster returns the characters from i on that are shown as one.
func (c *Composer) cluster(i int) []rune {
	end := min(i+16, len(c.text))
	first, _ := ansi.FirstGraphemeCluster(string(c.text[i:end]), ansi.GraphemeWidth)
	return c.text[i : i+max(1, len([]rune(first)))]
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
