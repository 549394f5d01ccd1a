package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestLinesAreFoldedBetweenWords(t *testing.T) {
	for line, want := range map[string]string{
		"a short line": "a short line",
		"  1  fix         a failing test is fixed and more":      "  1  fix         a failing test is fixed\n                 and more",
		"  demo      Watch haft work, with a scripted model":     "  demo      Watch haft work, with a\n            scripted model",
		"✓ settings: there are some in two files of this folder": "✓ settings: there are some in two files\n  of this folder",
		"  → set ANTHROPIC_API_KEY to the key of your account":   "  → set ANTHROPIC_API_KEY to the key of\n    your account",
		"haft: could not do what was asked for in this folder":   "haft: could not do what was asked for in\nthis folder",
		"      --append-system-prompt-file string   add a file":  "      --append-system-prompt-file string\n      add a file",
		"下一步：运行 haft；它会询问使用哪个模型并进行测试。然后":                         "下一步：运行 haft；它会询问使用哪个模型\n并进行测试。然后",
		"Trust 3 items of this folder, exactly shown? [y/N] ":    "Trust 3 items of this folder, exactly\nshown? [y/N] ",
	} {
		var b bytes.Buffer
		f := &folder{w: &b, width: 40}
		if n, err := f.Write([]byte(line + "\n")); err != nil || n != len(line)+1 {
			t.Fatal(n, err)
		}
		if got := b.String(); got != want+"\n" {
			t.Errorf("%q is\n%s\nwant\n%s", line, got, want)
		}
		for l := range strings.Lines(b.String()) {
			if ansi.StringWidth(strings.TrimRight(l, " \n")) > 40 {
				t.Errorf("too wide: %q", l)
			}
		}
	}
}

// What continues a line that was begun stays with it.
func TestALineThatIsWrittenInPartsIsNotIndented(t *testing.T) {
	var b bytes.Buffer
	f := &folder{w: &b, width: 20}
	for _, part := range []string{"> ", "a word and another word\n", "a word and another word\n"} {
		if _, err := f.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := b.String(), "> a word and another word\na word and another\nword\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
