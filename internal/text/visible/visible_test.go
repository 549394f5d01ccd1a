package visible_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/haftdev/haft/internal/text/visible"
)

func TestNothingIsHiddenOrMoves(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcödé 漢字 👍":     "plain ünïcödé 漢字 👍",
		"a\tb\nc":                "a\tb\nc",
		"a\rb":                   `a\u{d}b`,
		"\x1b[2Jx\a\b":           `\u{1b}[2Jx\u{7}\u{8}`,
		"\u009b2J":               `\u{9b}2J`, // CSI in one character
		"safe\u202egnp.exe":      `safe\u{202e}gnp.exe`,
		"ze\u200bro\u2066\ufeff": `ze\u{200b}ro\u{2066}\u{feff}`,
		"tag\U000e0041":          `tag\u{e0041}`,
		"a\u00a0b\u2028c":        `a\u{a0}b\u{2028}c`,
		"\xff\xc3(":              "\uFFFD\uFFFD(",
		"":                       "",
	} {
		if got := visible.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := visible.Indented("a\nwarning: b\n"); got != "a\n  warning: b\n  " {
		t.Errorf("Indented: %q", got)
	}
	if got := visible.Name("a\nb\tc\x1b"); got != `a\u{a}b\u{9}c\u{1b}` {
		t.Errorf("Name: %q", got)
	}
	if got := visible.Cells("a\tb\r\nc"); got != `a    b\u{d}`+"\n  c" {
		t.Errorf("Cells: %q", got)
	}
}

// Chinese, Japanese and French texts have blanks of their own, and emoji are joined; what hides or
// reorders text is escaped in prose too.
func TestProseIsShownAsItIsWritten(t *testing.T) {
	family := "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f\u200d\U0001f525"
	for in, want := range map[string]string{
		"全\u3000角 prix\u00a0: 10\u202f€ a\u2003b": "全\u3000角 prix\u00a0: 10\u202f€ a\u2003b",
		family:                     family,
		"e\u0301 שלום":             "e\u0301 שלום",
		"pass\u200dword a\u200bb":  `pass\u{200d}word a\u{200b}b`,
		"safe\u202egnp.exe\x1b[2J": `safe\u{202e}gnp.exe\u{1b}[2J`,
		"a\u2028b":                 `a\u{2028}b`,
	} {
		if got := visible.Prose(in); got != want {
			t.Errorf("Prose(%q) = %q, want %q", in, got, want)
		}
	}
	if got := visible.ProseCells("a\tb\n\u3000c"); got != "a    b\n  \u3000c" {
		t.Errorf("ProseCells: %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31mb\u202e\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := visible.Text(s)
		if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("Text(%q) leaves %q", s, got[i:])
		}
		if strings.Count(got, "\n") != strings.Count(s, "\n") {
			t.Errorf("Text(%q) has other lines: %q", s, got)
		}
		if visible.Text(got) != got {
			t.Errorf("Text(%q) is not the same when it is taken twice", s)
		}
	})
}

func TestBlanksThatNobodySeesAreMarked(t *testing.T) {
	for in, want := range map[string]string{
		"a b  c":                             "a b  c",
		"    indented":                       "    indented",
		strings.Repeat(" ", 40) + "indented": strings.Repeat(" ", 40) + "indented",
		"a ":                                 "a␠",
		"a\t \nb":                            "a␠␠\nb",
		"   ":                                "␠␠␠",
		"echo ok" + strings.Repeat(" ", 90) + "; rm": "echo ok ␠×90 ; rm",
		"x" + strings.Repeat(" ", 15) + "y":          "x" + strings.Repeat(" ", 15) + "y",
		"x" + strings.Repeat("\t", 20):               "x␠×20",
		"":                                           "",
	} {
		if got := visible.Blanks(in); got != want {
			t.Errorf("Blanks(%q) = %q, want %q", in, got, want)
		}
	}
}
