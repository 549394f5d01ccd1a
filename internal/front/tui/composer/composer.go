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
	"strings"
	"unicode"
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
