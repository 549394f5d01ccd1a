//go:build linux

package workspace

import (
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// The nearest file counts, and in it the last section that matches.
func TestEditorConfig(t *testing.T) {
	b := newBench(t, map[string]string{
		".editorconfig":         "\uFEFFROOT = true\n; a comment\n[*]\ncharset = utf-8\n[*.txt]\n# another\ncharset=latin1\n[/docs/**.{md,rst}]\ncharset = gbk\n[/docs/plain.md]\ncharset = unset\n",
		"sub/.editorconfig":     "charset = shift_jis\n[*.c]\nCHARSET = euc-kr\nno value\n",
		"sub/top/.editorconfig": "root = true\n[*.go]\ncharset = utf-16le\n",
		"sub/on/.editorconfig":  "root = false\n[*.md]\nroot = true\n",
	})
	for name, want := range map[string]string{
		"a.go":           "utf-8",
		"a.txt":          "latin1",
		"deep/in/a.txt":  "latin1",
		"docs/a.md":      "gbk",
		"docs/x/a.rst":   "gbk",
		"docs/plain.md":  "",
		"x/docs/a.md":    "utf-8",
		"sub/a.c":        "euc-kr",
		"sub/a.txt":      "latin1",
		"sub/top/a.go":   "utf-16le",
		"sub/top/a.txt":  "",
		"sub/on/a.txt":   "latin1",
		"../outside.txt": "",
	} {
		if got := b.editorConfig(b.path(name), "charset"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The encoding of a new file is that of most others with its ending, in its folder or, if there are none, above.
func TestEncodingsOfTheOthers(t *testing.T) {
	const german, russian = "Gr\xfc\xdfe aus K\xf6ln, sch\xf6ne Gr\xfc\xdfe und f\xfcnf B\xfccher\n", "\xcf\xf0\xe8\xe2\xe5\xf2, \xfd\xf2\xee \xef\xf0\xee\xf1\xf2\xee\xe9 \xf2\xe5\xea\xf1\xf2 \xe4\xeb\xff \xef\xf0\xee\xe2\xe5\xf0\xea\xe8\n"
	b := newBench(t, map[string]string{
		"src/a.txt": german, "src/b.txt": german, "src/in/c.txt": german, "src/d.c": russian,
		"src/.hidden/e.txt": russian, "src/node_modules/f.txt": russian, "src/utf8.txt": "Grüße\n",
		"empty/x.go": "package x\n",
	})
	of := func(name string) string { return first(b.encodingsBeside(b.path(name))) }
	latin := of("src/new.txt")
	if latin == "" || of("empty/new.txt") != latin || of("src/in/new.txt") != latin {
		t.Errorf("%q in src, %q in empty, %q in src/in", latin, of("empty/new.txt"), of("src/in/new.txt"))
	}
	if c := of("src/new.c"); c == "" || c == latin {
		t.Errorf("%q for C, %q for text", c, latin)
	}
	if others := b.encodingsBeside(b.path("src/new.go")); len(others) > 0 {
		t.Errorf("%v for Go", others)
	}
	if both := b.encodingsBeside(b.path("src/new.txt")); slices.Contains(both, of("src/new.c")) {
		t.Errorf("%v for text", both)
	}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// Who makes a file may say its encoding; otherwise the project does.
func TestTheEncodingOfANewFile(t *testing.T) {
	latin, ok := textfile.ByName("ISO-8859-1")
	if !ok {
		t.Fatal("there is no ISO-8859-1")
	}
	for name, c := range map[string]struct {
		given *textfile.Encoding
		want  string
	}{
		"by the project": {nil, "\xb7\xe7\n"}, // GBK
		"by its maker":   {&latin, "\xe9\n"},
	} {
		b := newBench(t, map[string]string{".editorconfig": "[*.txt]\ncharset = gbk\n"})
		text := map[bool]string{true: "风\n", false: "é\n"}[c.given == nil]
		_, err := b.Revise(t.Context(), Revision{Path: b.Look(b.path("a.txt")), Create: true, Encoding: c.given, Make: func(*textfile.Text) ([]byte, []string, error) { return []byte(text), nil, nil }})
		must(t, err)
		if got := b.content("a.txt"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
