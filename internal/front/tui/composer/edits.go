package composer

import (
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

// undone is what was written at a time.
type undone struct {
	text   []rune
	at     int
	pastes []string
}

// maxUndo is how many edits can be undone.
const maxUndo = 200
