package code_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/charmbracelet/x/ansi"
	"github.com/haftdev/haft/internal/front/tui/code"
	"github.com/haftdev/haft/internal/front/tui/style"
)

// marked is a palette in which colours can be read.
var marked = style.Palette{Keyword: "K", String: "S", Number: "N", Comment: "C", Function: "F", Good: "G", Bad: "B", Accent: "A"}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, lang string
		lines      []string
		want       []string
	}{
		{"words, strings and comments", "go", []string{`return f("a\"b", 12) // x`},
			[]string{"\x1b[Km" + "return\x1b[0m \x1b[Fmf\x1b[0m(\x1b[Sm\"a\\\"b\"\x1b[0m, \x1b[Nm12\x1b[0m) \x1b[Cm// x\x1b[0m"}},
		{"a comment of several lines", "c", []string{"a /* b", "c */ d"}, []string{"a \x1b[Cm/* b\x1b[0m", "\x1b[Cmc */\x1b[0m d"}},
		{"a string of several lines", "py", []string{`x = """a`, `b""" + 1`}, []string{"x = \x1b[Sm\"\"\"a\x1b[0m", "\x1b[Smb\"\"\"\x1b[0m + \x1b[Nm1\x1b[0m"}},
		{"words in capitals", "sql", []string{"SELECT x"}, []string{"\x1b[KmSELECT\x1b[0m x"}},
		{"a diff", "diff", []string{"+a", "-b", " c"}, []string{"\x1b[Gm+a\x1b[0m", "\x1b[Bm-b\x1b[0m", " c"}},
		{"a language that nobody knows", "klingon", []string{"return 1"}, []string{"return 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := code.New(c.lang, marked)
			var got []string
			for _, l := range c.lines {
				got = append(got, h.Line(l))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// FuzzLine holds that colours change no character.
func FuzzLine(f *testing.F) {
	f.Add("go", "func main() { `x` }")
	f.Add("py", `"""`)
	f.Fuzz(func(t *testing.T, lang, line string) {
		h := code.New(lang, style.Of(style.Dark))
		for range 2 {
			if got := h.Line(line); ansi.Strip(line) == line && ansi.Strip(got) != line {
				t.Errorf("%q became %q", line, got)
			}
		}
	})
}
