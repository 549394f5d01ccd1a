package grep_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/tools/grep"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// TestLegacyEncodings: text is found whatever its file is encoded in, in memory, from signatures and in large files, and shown as
// text; a file whose encoding is a guess is named.
func TestLegacyEncodings(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "p")
	put := func(name, encoding, text string) {
		t.Helper()
		enc, err := textfile.Lookup(encoding)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := enc.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("utf8.txt", "utf-8", "读取用户列表\n")
	put("gbk.py", "gbk", "# coding: gbk\nx = '用户'\n")
	put("gbk.txt", "gbk", "# 读取用户列表\n")
	put("large.txt", "gbk", strings.Repeat("# 这是一个很长的文件，里面没有要找的词。\n", 10000)+"# 读取用户列表\n")
	put("ru.txt", "cp1251", "// ошибка при сохранении файла\n")
	put("doubt.csv", "gbk", "姓名")
	for i := range 250 { // enough for signatures
		put(fmt.Sprintf("many/%d.txt", i), "utf-8", fmt.Sprintf("file %d\n", i))
	}
	ws, err := workspace.Open(dir, &workspace.Options{Home: base, State: filepath.Join(base, "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	s := search.New(&search.Options{Decode: ws.SearchText})
	defer s.Close()
	tl := grep.New(&grep.Options{Searcher: s, Dir: func() string { return dir }})
	for round := range 3 {
		for pattern, want := range map[string][]string{
			"用户":     {"utf8.txt:1:读取用户列表", "gbk.py:2:x = '用户'", "gbk.txt:1:# 读取用户列表", "large.txt:10001:# 读取用户列表", "doubt.csv"},
			"ошибка": {"ru.txt:1:// ошибка при сохранении файла"},
			"ОШИБКА": {"No matches found", "doubt.csv"},
			"姓名":     {"doubt.csv:1:姓名", "Encoding uncertain, so matches may be missing: doubt.csv."},
		} {
			r, err := run(t, tl, fmt.Sprintf(`{"pattern":%q,"output_mode":"content"}`, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if !strings.Contains(r.Text(), w) {
					t.Errorf("round %d: %s is not in the answer for %s: %s", round, w, pattern, r.Text())
				}
			}
		}
		r, err := run(t, tl, `{"pattern":"saved|file 17$","output_mode":"content"}`)
		if err != nil || strings.Contains(r.Text(), "uncertain") {
			t.Errorf("a search for ASCII speaks of encodings: %v %s", err, r.Text())
		}
		s.WaitIndexed()
	}
}
