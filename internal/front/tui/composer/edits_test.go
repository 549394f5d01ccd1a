package composer_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
)

// TestEveryEditKey presses each key of the table on the same text and looks at what it
// leaves; the caret is the bar.
func TestEveryEditKey(t *testing.T) {
	want := map[string]string{
		"shift+enter": "one two\nand th\n|ree four", "backspace": "one two\nand t|ree four", "delete": "one two\nand th|ee four",
		"left": "one two\nand t|hree four", "right": "one two\nand thr|ee four",
		"ctrl+left": "one two\nand |three four", "ctrl+right": "one two\nand three| four",
		"home": "one two\n|and three four", "end": "one two\nand three four|",
		"ctrl+w": "one two\nand |ree four", "alt+d": "one two\nand th| four",
		"ctrl+u": "one two\n|ree four", "ctrl+k": "one two\nand th|", "ctrl+y": "one two\nand thcut|ree four", "ctrl+_": "one two\nand |ree four",
	}
	for _, e := range composer.Edits() {
		for _, name := range e.Keys {
			t.Run(name, func(t *testing.T) {
				c := composer.New(nil)
				write(c, "cut\x17") // the word that ctrl+y inserts
				c.Insert("one two\nand ree four")
				for range "ree four" {
					c.Key(key.Key{Name: key.Left})
				}
				write(c, "th")
				if e.Does == "" || !c.Key(named(name)) {
					t.Fatalf("%s does nothing", name)
				}
				if got := c.Before() + "|" + strings.TrimPrefix(c.Text(), c.Before()); got != want[e.Keys[0]] {
					t.Errorf("got %q, want %q", got, want[e.Keys[0]])
				}
			})
		}
	}
}

// named is the key with a name of the table.
func named(name string) (k key.Key) {
	parts := strings.Split(name, "+")
	for _, p := range parts[:len(parts)-1] {
		k.Ctrl, k.Alt, k.Shift = k.Ctrl || p == "ctrl", k.Alt || p == "alt", k.Shift || p == "shift"
	}
	if last := parts[len(parts)-1]; len(last) == 1 {
		k.Rune = rune(last[0])
	} else {
		k.Name = key.Name(last)
	}
	return k
}

func TestUndoGoesBackByWordsAndEdits(t *testing.T) {
	c := composer.New(nil)
	write(c, "fix the bug")
	c.Paste(strings.Repeat("line\n", 20))
	c.Take()
	for _, want := range []string{"fix the bug" + c.Text() + "[pasted text 1, 20 lines]", "fix the bug", "fix the ", "fix the", "fix ", "fix", "", ""} {
		write(c, "\x1f")
		if c.Text() != want {
			t.Fatalf("%q, want %q", c.Text(), want)
		}
		if strings.Contains(want, "pasted") && !strings.Contains(c.Filled(), "line\nline\n") {
			t.Error("what was pasted is lost")
		}
	}
}

func TestBackspaceTakesWhatIsShownAsOne(t *testing.T) {
	c := composer.New(nil)
	c.Insert("a👨‍👩‍👧e\u0301")
	for _, want := range []string{"a👨‍👩‍👧", "a", ""} {
		write(c, "\x7f")
		if c.Text() != want {
			t.Fatalf("%q, want %q", c.Text(), want)
		}
	}
}
