package composer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
)

// write feeds a composer with what a terminal sends.
func write(c *composer.Composer, bytes string) {
	d := new(key.Decoder)
	for _, ev := range append(d.Decode([]byte(bytes)), d.Flush()...) {
		switch ev := ev.(type) {
		case key.Paste:
			c.Paste(string(ev))
		case key.Key:
			switch ev.Name {
			case key.Up:
				c.Up()
			case key.Down:
				c.Down()
			default:
				c.Key(ev)
			}
		}
	}
}

func TestEdits(t *testing.T) {
	const left, right, up, home = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[H"
	for _, c := range []struct{ name, typed, want string }{
		{"letters", "héllo", "héllo|"},
		{"in the middle", "ac" + left + "b", "ab|c"},
		{"backspace", "ab\x7f", "a|"},
		{"a line break", "a\nb", "a\nb|"},
		{"a word", "one two\x17", "one |"},
		{"the line before the caret, and back", "one\x15x\x19", "xone|"},
		{"the rest of the line", "one" + home + right + "\x0b", "o|"},
		{"up in the text", "abc\nd" + up, "a|bc\nd"},
		{"by words", "one two" + "\x1bb" + "X", "one X|two"},
		{"a short paste", "a\x1b[200~b\nc\x1b[201~d", "ab\ncd|"},
		{"control characters are no text", "a\x1b[200~b\x07\x1b[31mc\x1b[201~", "ab[31mc|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := composer.New(nil)
			write(e, c.typed)
			got := e.Before() + "|" + strings.TrimPrefix(e.Text(), e.Before())
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestALongPasteIsShownAsAMark(t *testing.T) {
	e := composer.New(nil)
	long := strings.Repeat("line\n", 50)
	write(e, "see: ")
	e.Paste(long)
	if got := e.Text(); got != "see: [pasted text 1, 50 lines]" {
		t.Errorf("shown as %q", got)
	}
	if got := e.Take(); got != "see: "+long || !e.Empty() {
		t.Errorf("taken as %q", got)
	}
}

// TestAMarkIsOneThing edits around a mark: what was pasted stays whole or goes.
func TestAMarkIsOneThing(t *testing.T) {
	const left, right, home = "\x1b[D", "\x1b[C", "\x1b[H"
	long := strings.Repeat("\tline\n", 50)
	for _, c := range []struct{ name, typed, want string }{
		{"backspace takes all of it", "\x7f", "a "},
		{"so does a word", "\x17", "a "},
		{"and it can be had back", "\x17\x19", "a " + long},
		{"delete, from before it", left + "\x1b[3~", "a "},
		{"the caret passes it", left + "b", "a b" + long},
		{"in both directions", left + right + "b", "a " + long + "b"},
		{"nothing is written into it", home + right + right + right + left + "b", "a b" + long},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := composer.New(nil)
			write(e, "a ")
			e.Paste(long)
			write(e, c.typed)
			if got := e.Take(); got != c.want {
				t.Errorf("taken as %q, want %q", got, c.want)
			}
		})
	}
}

func TestTabsOfAPasteStay(t *testing.T) {
	e := composer.New(nil)
	e.Paste("all:\n\tgo build")
	if lines, _, col := e.View(40, nil); lines[1] != "    go build" || col != 12 {
		t.Errorf("shown as %q, caret at %d", lines, col)
	}
	if got := e.Take(); got != "all:\n\tgo build" {
		t.Errorf("taken as %q", got)
	}
}

func TestBlanksOfEveryScriptStay(t *testing.T) {
	text := "全\u3000角 10\u202f€\u00a0!\u2003\U0001f468\u200d\U0001f469 e\u0301"
	c := composer.New(nil)
	c.Insert(text)
	if c.Text() != text {
		t.Errorf("%q was typed, %q is there", text, c.Text())
	}
}

func TestHistory(t *testing.T) {
	e := composer.New([]string{"first", "second"})
	write(e, "now")
	var got []string
	for range 3 {
		e.Up()
		got = append(got, e.Text())
	}
	for range 3 {
		e.Down()
		got = append(got, e.Text())
	}
	if d := cmp.Diff([]string{"second", "first", "first", "second", "now", "now"}, got); d != "" {
		t.Error(d)
	}
}

func TestTheCaretIsWhereTheTextIs(t *testing.T) {
	for _, c := range []struct {
		text     string
		lines    []string
		row, col int
	}{
		{"", []string{""}, 0, 0},
		{"abcdef", []string{"abcd", "ef"}, 1, 2},
		{"abcd", []string{"abcd", ""}, 1, 0},
		{"漢字漢", []string{"漢字", "漢"}, 1, 2},
		{"a\n\nb", []string{"a", "", "b"}, 2, 1},
	} {
		e := composer.New(nil)
		e.Set(c.text)
		lines, row, col := e.View(4, nil)
		if d := cmp.Diff(c.lines, lines); d != "" || row != c.row || col != c.col {
			t.Errorf("%q: caret at %d, %d, want %d, %d; lines (-want +got):\n%s", c.text, row, col, c.row, c.col, d)
		}
	}
}

// TestLinesBreakBetweenWords holds where the text is broken, and that the caret is where it stands.
func TestLinesBreakBetweenWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"one two three", []string{"one two ", "three"}},
		{"one two  three", []string{"one two ", "three"}},
		{"incomprehensible word", []string{"incompre", "hensible", "word"}},
		{"漢字漢字漢字", []string{"漢字漢字", "漢字"}},
		{"a\nbc", []string{"a", "bc"}},
		{"12345678", []string{"12345678", ""}},
	} {
		cp := composer.New(nil)
		cp.Set(c.text)
		lines, row, _ := cp.View(8, nil)
		if d := cmp.Diff(c.want, lines); d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
		if row != len(lines)-1 {
			t.Errorf("%q: the caret at the end is in line %d", c.text, row)
		}
		for range []rune(c.text) {
			cp.Key(key.Key{Name: key.Left})
			if lines, row, col := cp.View(8, nil); row >= len(lines) || col > 8 {
				t.Errorf("%q: the caret is at %d, %d", c.text, row, col)
			}
		}
	}
}
