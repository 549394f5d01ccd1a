package composer

import (
	"slices"
	"unicode"

	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/text/lang"
)

// An Edit is what keys do to a text.
type Edit struct {
	// Keys are all that do it, as [key.Key.String] writes them.
	Keys []string
	Does lang.Text
	do   func(*Composer)
}

// Edits are those there are. Keys that move up and down are the front end's: they also
// go through the history.
func Edits() []Edit {
	return []Edit{
		{[]string{"shift+enter", "alt+enter", "ctrl+j"}, "start a new line, as does \\ before enter", func(c *Composer) { c.insert([]rune{'\n'}) }},
		{[]string{"backspace", "ctrl+h"}, "delete the character before the cursor", func(c *Composer) { c.cut(c.left(), c.at) }},
		{[]string{"delete"}, "delete the character under the cursor", func(c *Composer) { c.cut(c.at, c.right()) }},
		{[]string{"left"}, "move left", func(c *Composer) { c.move(c.left()) }},
		{[]string{"right", "ctrl+f"}, "move right", func(c *Composer) { c.move(c.right()) }},
		{[]string{"ctrl+left", "alt+left", "alt+b"}, "move left by a word", func(c *Composer) { c.move(c.wordLeft()) }},
		{[]string{"ctrl+right", "alt+right", "alt+f"}, "move right by a word", func(c *Composer) { c.move(c.wordRight()) }},
		{[]string{"home", "ctrl+a"}, "move to the start of the line", func(c *Composer) { c.move(c.lineStart()) }},
		{[]string{"end", "ctrl+e"}, "move to the end of the line", func(c *Composer) { c.move(c.lineEnd()) }},
		{[]string{"ctrl+w", "alt+backspace", "ctrl+backspace"}, "cut the word before the cursor", func(c *Composer) { c.killed(c.wordLeft(), c.at) }},
		{[]string{"alt+d"}, "cut the word after the cursor", func(c *Composer) { c.killed(c.at, c.wordRight()) }},
		{[]string{"ctrl+u"}, "cut to the start of the line", func(c *Composer) { c.killed(c.lineStart(), c.at) }},
		{[]string{"ctrl+k"}, "cut to the end of the line", func(c *Composer) { c.killed(c.at, max(c.lineEnd(), min(c.at+1, len(c.text)))) }},
		{[]string{"ctrl+y"}, "insert the text that was cut last", func(c *Composer) { c.insert(c.kill) }},
		{[]string{"ctrl+_", "ctrl+-", "ctrl+/"}, "undo", (*Composer).undo},
	}
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

// undone is what was written at a time.
type undone struct {
	text   []rune
	at     int
	pastes []string
}

// maxUndo is how many edits can be undone.
const maxUndo = 200

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
