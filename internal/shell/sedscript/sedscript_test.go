package sedscript_test

import (
	"testing"

	"github.com/haftdev/haft/internal/shell/sedscript"
)

func TestFilters(t *testing.T) {
	for _, script := range []string{
		"", "p", "$p", "1,3p", "1~2d", "/a/,/b/p", "/a/I,+3p", "s/a/b/", "s/a/b/gp", "s|/usr|/opt|",
		"/w file/p", "s/e/w/g", "y/abc/xyz/", "$!N;P;D", "1!G;h;$!d", ":a;N;$!ba;s/\\n/ /g", "/x/{s/a/b/;p}", "# only a comment\np",
		"a\\hello", "a hello; w not a command", "i\\\nfirst \\\nsecond\np", `\,x,d`, "/[[:space:]]/d", "s/[]a]/x/", "s/[^]a]/x/", "5q", "q;p", "=", "0~3p", `s/\//x/`, "/a/!d",
		"s/a/b/2", "10,20!d", "l", "n;d",
	} {
		if err := sedscript.Check(script); err != nil {
			t.Errorf("%q: %v, want it accepted", script, err)
		}
	}
}

func TestOthersAreRefused(t *testing.T) {
	for _, script := range []string{
		"w x", "wx", "W x", "1wx", "/a/w x", "1,2w x", "s/a/b/w x", "s/a/b/wx", "s/a/b/gw x", "s/a/b/e", "s/a/b/ge", "e", "e touch x", "1e touch x", "r x", "rx", "R x",
		"p;w x", "p\nw x", "/a/{w x", "}w x", "$!N;P;D;w x", "0~3w x", "s/a/b/;e", `\,x,w y`, "1!w x", "a\\", "s/[/]/x/w", "s/[/]/x/", "s/a/b", "s/a", "/a", "s\na\nb\n",
		"v", "M", "s/[a\\]w x/b/", "s/a/b/\nw x", "a text\nw x", "i\\\ntext\nw x", "y/a/b/w x", "ba w x", "s[a[b[w x", "# c\nw x", "1,+2w x", "/x/I w y", "{w x", "p}w x",
		"a x\\\\\nw x", "a\\\\\nw x", "i x\\\\\\\\\nw x", "a\\ x\\\nw x", "1c\\\n x\\\\\nw x",
	} {
		if err := sedscript.Check(script); err == nil {
			t.Errorf("%q: accepted, want it refused", script)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("s/a/b/w x")
	f.Add("/a/{p;d}")
	f.Fuzz(func(t *testing.T, script string) {
		if sedscript.Check(script) != nil {
			return
		}
		if sedscript.Check(script+"\nw x") == nil && !endsInText(script) {
			t.Errorf("%q is accepted and hides the write command after it", script)
		}
	})
}

// endsInText reports whether a line after script could belong to it.
func endsInText(script string) bool { return len(script) > 0 && script[len(script)-1] == '\\' }
