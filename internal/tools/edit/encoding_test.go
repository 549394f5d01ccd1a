//go:build unix

package edit_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/tools/edit"
	"github.com/haftdev/haft/internal/tools/read"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// in returns text as bytes of an encoding.
func in(t *testing.T, encoding, text string) string {
	t.Helper()
	enc, err := textfile.Lookup(encoding)
	must(t, err)
	raw, err := enc.Encode(text)
	must(t, err)
	return string(raw)
}

// TestEncodingsAreReadAndKept: files as they are found in old projects are shown as their text, and an edit beyond ASCII is
// written in the encoding that they have.
func TestEncodingsAreReadAndKept(t *testing.T) {
	cases := []struct{ name, file, encoding, text, say string }{
		{"Python says GBK", "a.py", "gbk", "# -*- coding: gbk -*-\nname = '姓名'\n", "GBK (declared in the file)"},
		{"XML says Big5", "a.xml", "big5", "<?xml version=\"1.0\" encoding=\"Big5\"?>\n<a>姓名</a>\n", "Big5 (declared in the file)"},
		{"HTML says EUC-KR", "a.html", "euc-kr", "<html><meta charset=euc-kr><p>姓名</p>\n", "EUC-KR (declared in the file)"},
		{"the project says GBK", "src/a.txt", "gbk", "姓名\n", "GBK (.editorconfig)"},
		{"the letters say windows-1251", "a.md", "cp1251", "# Чтение списка 姓名", "windows-1251 (guessed"},
		{"the letters say Shift_JIS", "b.md", "sjis", "// 設定ファイルを読み込む 姓名\n", "Shift_JIS (guessed"},
		{"the other files say GB18030", "data/a.csv", "gbk", "姓名", "GB18030 (guessed"},
	}
	b := newBench(t, map[string]string{
		".editorconfig":     "root = true\n[*.txt]\ncharset = gbk\n[/data/**]\nindent_size = 2\n",
		"src/.editorconfig": "[*.c]\ncharset = latin1\n",
		"data/b.csv":        in(t, "gbk", "姓名,城市\n张三,上海\n李四,广州\n"),
	})
	for _, c := range cases {
		word, other := "姓名", "上下"
		if c.encoding == "cp1251" {
			word, other = "список", "строка"
			c.text = strings.ReplaceAll(c.text, "姓名", word)
		}
		b.write(c.file, in(t, c.encoding, c.text))
		r, err := b.run(b.read, read.Input{FilePath: b.path(c.file)})
		must(t, err)
		if got := r.Text(); !strings.Contains(got, word) || !strings.Contains(got, c.say) {
			t.Errorf("%s: %s", c.name, got)
		}
		if _, err := b.run(b.edit, edit.Input{FilePath: b.path(c.file), OldString: word, NewString: other}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if want := in(t, c.encoding, strings.ReplaceAll(c.text, word, other)); b.content(c.file) != want {
			t.Errorf("%s: the file holds %q, want %q", c.name, b.content(c.file), want)
		}
	}
}

// TestTheEncodingThatTheModelNames follows the sentence that Read and Edit say where they cannot tell.
func TestTheEncodingThatTheModelNames(t *testing.T) {
	b := newBench(t, map[string]string{"a": in(t, "gbk", "姓名"), "b": in(t, "gbk", "姓名"), "c": in(t, "big5", "名")})
	r, err := b.run(b.read, read.Input{FilePath: b.path("a")})
	must(t, err)
	if !strings.Contains(r.Text(), "call Read with encoding set to the right one") {
		t.Fatalf("Read does not say what to do: %s", r.Text())
	}
	_, err = b.run(b.edit, edit.Input{FilePath: b.path("a"), OldString: "姓", NewString: "书"})
	if err == nil || !strings.Contains(err.Error(), "send this call again with encoding set to it") || strings.Contains(err.Error(), "convert") {
		t.Fatalf("an edit on a doubtful guess: %v", err)
	}
	_, err = b.run(b.edit, edit.Input{FilePath: b.path("a"), OldString: "姓", NewString: "书", Encoding: "gbk"})
	must(t, err)
	if got := b.content("a"); got != in(t, "gbk", "书名") {
		t.Errorf("Edit with encoding wrote %q", got)
	}
	_, err = b.run(b.read, read.Input{FilePath: b.path("b"), Encoding: "GBK"})
	must(t, err)
	_, err = b.run(b.multi, edit.MultiInput{FilePath: b.path("b"), Edits: []edit.OneEdit{{OldString: "姓", NewString: "书"}}})
	must(t, err)
	if got := b.content("b"); got != in(t, "gbk", "书名") {
		t.Errorf("what Read was told is forgotten: %q", got)
	}
	_, err = b.run(b.edit, edit.Input{FilePath: b.path("new.py"), NewString: "# coding: gbk\nx = '书'\n"})
	must(t, err)
	if got := b.content("new.py"); got != in(t, "gbk", "# coding: gbk\nx = '书'\n") {
		t.Errorf("a new file is not what it declares: %q", got)
	}
	_, err = b.run(b.read, read.Input{FilePath: b.path("c"), Encoding: "klingon"})
	if err == nil || !strings.Contains(err.Error(), "Big5") {
		t.Errorf("an unknown encoding: %v", err)
	}
}
