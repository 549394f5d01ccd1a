package composer

import (
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/tui/key"
)

// vimCases are typed in normal mode; | is the caret, before and after.
func vimCases() []struct{ name, text, keys, want string } {
	return []struct{ name, text, keys, want string }{
		{"h", "ab|c", "h", "a|bc"}, {"h stays in the line", "a\n|b", "h", "a\n|b"}, {"l", "|abc", "l", "a|bc"}, {"l stops", "ab|c", "l", "ab|c"}, {"count", "|abcdef", "3l", "abc|def"},
		{"j", "|ab\ncd", "j", "ab\n|cd"}, {"k", "ab\nc|d", "k", "a|b\ncd"}, {"j into a shorter line", "ab|c\nd", "j", "abc\n|d"},
		{"w", "|one two", "w", "one |two"}, {"w stops at punctuation", "|one.two", "w", "one|.two"}, {"2w", "|a b c", "2w", "a b |c"},
		{"b", "one t|wo", "b", "one |two"}, {"bb", "one t|wo", "bb", "|one two"}, {"e", "|one two", "e", "on|e two"}, {"ee", "|one two", "ee", "one tw|o"},
		{"0", "  a|b", "0", "|  ab"}, {"^", "  a|b", "^", "  |ab"}, {"$", "|abc", "$", "ab|c"}, {"gg", "a\nb\n|c", "gg", "|a\nb\nc"}, {"G", "|a\nb\nc", "G", "a\nb\n|c"}, {"2G", "|a\nb\nc", "2G", "a\n|b\nc"},
		{"f", "|a,b,c", "f,", "a|,b,c"}, {"2f", "|a,b,c", "2f,", "a,b|,c"}, {";", "|a,b,c", "f,;", "a,b|,c"}, {",", "|a,b,c", "2f,,", "a|,b,c"}, {"t", "|ab,c", "t,", "a|b,c"}, {"F", "a,b|c", "F,", "a|,bc"}, {"T", "a,b|c", "T,", "a,|bc"}, {"f finds nothing", "|abc", "fz", "|abc"},
		{"x", "a|bc", "x", "a|c"}, {"3x", "|abcd", "3x", "|d"}, {"x at the end", "ab|c", "x", "a|b"},
		{"dd", "a\n|b\nc", "dd", "a\n|c"}, {"dd of the last", "a\n|b", "dd", "|a"}, {"dd of all", "|ab", "dd", "|"}, {"2dd", "|a\nb\nc", "2dd", "|c"}, {"dj", "|a\nb\nc", "dj", "|c"}, {"dG", "a\n|b\nc", "dG", "|a"}, {"dgg", "a\n|b\nc", "dgg", "|c"},
		{"dw", "|one two", "dw", "|two"}, {"d2w", "|a b c", "d2w", "|c"}, {"dw leaves the line end", "o|ne\ntwo", "dw", "|o\ntwo"}, {"de", "|one two", "de", "| two"}, {"db", "one |two", "db", "|two"}, {"d$", "a|bc", "d$", "|a"}, {"d0", "ab|c", "d0", "|c"}, {"df", "|a,b", "df,", "|b"}, {"dt", "|a,b", "dt,", "|,b"}, {"D", "a|bc", "D", "|a"},
		{"cw", "|one two", "cwsix\x1b", "si|x two"}, {"cc", "a\n|bc\nd", "ccx\x1b", "a\n|x\nd"}, {"C", "a|bc", "Cx\x1b", "a|x"}, {"c$", "a|bc", "c$x\x1b", "a|x"},
		{"yy p", "|a\nb", "yyp", "a\n|a\nb"}, {"yy P", "a\n|b", "yyP", "a\n|b\nb"}, {"yw p", "|a b", "ywp", "aa|  b"}, {"x p", "|ab", "xp", "b|a"}, {"P", "a|b", "xP", "|ba"}, {"3p", "|ab", "x3p", "baa|a"},
		{"u", "|one two", "dwu", "|one two"}, {"uu", "|a b c", "dwdwuu", "|a b c"}, {"u of an insert", "|b", "ia\x1bu", "|b"},
		{"i", "a|c", "ib\x1b", "a|bc"}, {"a", "|ac", "ab\x1b", "a|bc"}, {"I", "  a|c", "Ib\x1b", "  |bac"}, {"A", "|ab", "Ac\x1b", "ab|c"}, {"o", "|a\nb", "ox\x1b", "a\n|x\nb"}, {"O", "a\n|b", "Ox\x1b", "a\n|x\nb"},
		{"r", "a|bc", "rx", "a|xc"}, {"2r", "|abc", "2rx", "x|xc"}, {"r too far", "ab|c", "3rx", "ab|c"},
		{". repeats x", "|abcd", "x.", "|cd"}, {". repeats dw", "|a b c", "dw.", "|c"}, {". repeats an insert", "|b", "ia\x1b.", "|aab"}, {". repeats cw", "|a b", "cwx\x1bw.", "x |x"}, {". repeats A", "|a\nb", "A;\x1bj.", "a;\nb|;"},
		{"ctrl+r", "|one two", "dwu\x12", "|two"}, {"ctrl+r twice", "|a b c", "dwdwuu\x12\x12", "|c"}, {"2 ctrl+r", "|a b c", "dwdwuu2\x12", "|c"}, {"ctrl+r and u", "|a b", "dwu\x12u", "|a b"}, {"ctrl+r after another change", "|a b c", "dwux\x12", "| b c"}, {"ctrl+r of nothing", "|ab", "\x12", "|ab"},
		{"diw", "one t|wo three", "diw", "one | three"}, {"daw", "one t|wo three", "daw", "one |three"}, {"daw of the last", "one t|wo", "daw", "on|e"}, {"diw of blanks", "a |  b", "diw", "a|b"}, {"ciw", "o|ne two", "ciwsix\x1b", "si|x two"}, {"yiw", "o|ne", "yiwP", "on|eone"}, {"diW", "a b|.c d", "diW", "a | d"}, {"daW", "a b|.c d", "daW", "a |d"}, {"diw of cjk", "看 你|好", "diw", "看| "},
		{`di"`, `say "a| b" now`, `di"`, `say "|" now`}, {`da"`, `say "a| b" now`, `da"`, `say |now`}, {`ci" before it`, `|say "a"`, "ci\"b\x1b", `say "|b"`}, {`di" with an escape`, `"a\"|b"`, `di"`, `"|"`}, {"di'", "f('|x')", "di'", "f('|')"}, {"da'", "f('|x')", "da'", "f(|)"}, {"di`", "a `|b` c", "di`", "a `|` c"}, {"da`", "a `|b` c", "da`", "a |c"}, {`di" without quotes`, "|abc", `di"`, "|abc"},
		{"di(", "f(a, (b|))", "di(", "f(a, (|))"}, {"da(", "f(a, (b|))", "da(", "f(a, |)"}, {"di( on the bracket", "f(a|)", "di(", "f(|)"}, {"di)", "f|(a)", "di)", "f(|)"}, {"dib", "f(|a)", "dib", "f(|)"}, {"di[", "a[b|]", "di[", "a[|]"}, {"da[", "a[b|]c", "da[", "a|c"}, {"di{", "{a\n|b}", "di{", "{|}"}, {"da{", "x{a|}", "da{", "|x"}, {"diB", "{|a}", "diB", "{|}"}, {"di<", "<a|>", "di<", "<|>"}, {"da<", "b<a|>c", "da<", "b|c"}, {"di( outside", "|a(b)", "di(", "|a(b)"}, {"di( that is open", "(a|b", "di(", "(a|b"},
		{". repeats ciw", "|a b", "ciwx\x1bw.", "x |x"}, {"u of diw", "|one two", "diwu", "|one two"}, {"an object that is none", "|abc", "diz", "|abc"},
		{"v d", "|abcd", "vld", "|cd"}, {"v x", "|abcd", "vlx", "|cd"}, {"v backwards", "ab|cd", "vhd", "a|d"}, {"v y P", "|ab", "vlyP", "a|bab"}, {"v c", "|abc", "vlcx\x1b", "|xc"}, {"v s", "|abc", "vlsx\x1b", "|xc"}, {"v o", "a|bcd", "vlohd", "|d"}, {"v iw", "one t|wo", "viwd", "one| "}, {`v a"`, `a "b|"`, `va"d`, "a| "}, {"v w", "|a b c", "vwd", "| c"}, {"v f", "|a,b", "vf,d", "|b"}, {"v v", "|ab", "vvx", "|b"}, {"v esc", "|ab", "v\x1bx", "|b"}, {"v p", "|ab cd", "yiwwviwp", "ab a|b"},
		{"V d", "a\n|b\nc", "Vd", "a\n|c"}, {"V j d", "|a\nb\nc", "Vjd", "|c"}, {"V y p", "|a\nb", "Vyp", "a\n|a\nb"}, {"V c", "a|b\nc", "Vcx\x1b", "|x\nc"}, {"V G d", "a\n|b\nc", "VGd", "|a"}, {"V v d", "a|b\nc", "Vvd", "|a\nc"},
		{"esc forgets", "|abc", "2d\x1bx", "|bc"}, {"cjk", "|你好 世界", "w", "你好 |世界"}, {"an unknown letter does nothing", "|abc", "Zx", "|bc"},
	}
}

// TestEveryVimKey holds that each key of the table is typed in a case.
func TestEveryVimKey(t *testing.T) {
	for _, row := range VimKeys() {
		for _, name := range row.Keys {
			typed := strings.ReplaceAll(name, "ctrl+r", "\x12")
			if !slices.ContainsFunc(vimCases(), func(c struct{ name, text, keys, want string }) bool {
				return strings.Contains(c.keys, typed) && c.text != c.want
			}) {
				t.Errorf("no case types %s", name)
			}
		}
	}
}

func TestVim(t *testing.T) {
	for _, c := range vimCases() {
		before, after, _ := strings.Cut(c.text, "|")
		w := New(nil)
		w.Set(before + after)
		w.at = len([]rune(before))
		w.Vim(true)
		w.vim.normal = true
		for _, r := range c.keys {
			if k := vimTyped(r); !w.VimKey(k) {
				w.Key(k)
			}
		}
		if got := string(w.text[:w.at]) + "|" + string(w.text[w.at:]); got != c.want {
			t.Errorf("%s: %q with %q became %q, want %q", c.name, c.text, c.keys, got, c.want)
		}
		if w.VimMode() != "normal" {
			t.Errorf("%s: it ends in %s mode", c.name, w.VimMode())
		}
	}
}

// vimTyped is the key that a test means.
func vimTyped(r rune) key.Key {
	switch r {
	case '\x1b':
		return key.Key{Name: key.Escape}
	case '\x12':
		return key.Key{Rune: 'r', Ctrl: true}
	}
	return key.Key{Rune: r}
}

func FuzzVim(f *testing.F) {
	f.Add("one two\nthree", "dwj.cwx\x1bu2ddp")
	f.Add("f(a, \"b\")\n", "vi(oVjd\x12uda\"viwpVGc")
	f.Fuzz(func(t *testing.T, text, keys string) {
		w := New(nil)
		w.Set(text)
		w.Vim(true)
		for _, r := range "\x1b" + keys {
			if k := vimTyped(r); !w.VimKey(k) {
				w.Key(k)
			}
			if from, to := w.selection(); from < 0 || from > to || to > len(w.text) {
				t.Fatalf("%d to %d of %d is selected", from, to, len(w.text))
			}
			if w.at < 0 || w.at > len(w.text) {
				t.Fatalf("the caret is at %d of %d", w.at, len(w.text))
			}
		}
	})
}
