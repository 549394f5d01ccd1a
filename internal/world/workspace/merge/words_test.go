package merge

import (
	"bytes"
	"strings"
	"testing"
)

func TestTwoChangesOfALineAreJoinedWordByWord(t *testing.T) {
	cut := func(s string) [][]byte { return bytes.SplitAfter([]byte(s), []byte("\n")) }
	for _, c := range []struct{ name, base, ours, theirs, want string }{
		{"changes apart", "a isEmpty(b)\n", "x isEmpty(b)\n", "a empty(b)\n", "x empty(b)\n"},
		{"an insertion beside a renaming", "f() { _ = old(1) }\n", "f() { g(); _ = old(1) }\n", "f() { _ = new(1) }\n", "f() { g(); _ = new(1) }\n"},
		{"letters of another alphabet", "名前 = 値\n", "名前 = 数\n", "番号 = 値\n", "番号 = 数\n"},
		{"the same word", "a b c\n", "a x c\n", "a y c\n", ""},
		{"words side by side", "a-b\n", "x-b\n", "a-y\n", "x-y\n"},
		{"a line that is gone", "a b\nc\n", "a x\nc\n", "c\n", ""},
	} {
		m := Lines(cut(c.base), cut(c.ours), cut(c.theirs))
		if m.Clean() {
			t.Errorf("%s: no conflict to begin with", c.name)
		}
		byWords := m.ByWords()
		switch got := string(byWords.Bytes()); {
		case c.want == "" && byWords.Clean():
			t.Errorf("%s: joined to %q", c.name, got)
		case c.want != "" && (got != c.want || !byWords.Clean()):
			t.Errorf("%s: %q, clean %t", c.name, got, byWords.Clean())
		}
	}
}

func FuzzWordsLoseNothing(f *testing.F) {
	f.Add("a isEmpty(b)\tc  d")
	f.Add("\xff\xfe名前_1-2")
	f.Fuzz(func(t *testing.T, text string) {
		if got := string(bytes.Join(words([][]byte{[]byte(text)}), nil)); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if strings.Contains(text, "\n") {
			return
		}
		line := [][]byte{[]byte(text)}
		if m := Lines(line, line, line).ByWords(); !m.Clean() || string(m.Bytes()) != text {
			t.Errorf("%q: %q", text, m.Bytes())
		}
	})
}
