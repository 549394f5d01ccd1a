package search

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/world/search/rgtest"
)

// goldenTree writes a tree with every nasty case in it and gives its path.
func goldenTree(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	w := func(name, content string) { writeFile(t, filepath.Join(dir, name), content) }
	w(".git/HEAD", "ref: refs/heads/main needle\n")
	w(".git/info/exclude", "excluded.txt\n")
	w(".gitignore", "*.log\n!keep.log\nbuild/\n/anchored.txt\ndoc/*.html\n**/deep/ign*\n\\#hash\ntrail\\ \n[ab]class.txt\nsub/neg/*\n!sub/neg/yes.txt\n")
	w(".ignore", "ignored-by-ignore.txt\n!special.log\n")
	w(".rgignore", "ignored-by-rg.txt\n!anchored.txt\n")
	w("plain.txt", "hay\na needle b\nhay\nNEEDLE two\nlast needle without break")
	w("crlf.txt", "one\r\nneedle\r\n\r\nxneedle y\r\n")
	w("empty.txt", "")
	w("newline.txt", "\n")
	w("blank.txt", "\n\nneedle\n\n\n")
	w("bom.txt", "\uFEFFneedle at start\nx\n")
	w("utf16le.txt", utf16Text("needle sixteen\nhéllo wörld\n", false))
	w("utf16be.txt", utf16Text("x\nneedle big\n", true))
	w("utf16nobom.txt", utf16Text("needle\n", false)[2:])
	w("latin1.txt", "caf\xe9 needle\nx\xffy\nna\xefve\n")
	w("unicode.txt", "école needle\nщука\nστίγμασ ΣΤΊΓΜΑΣ\n\u212Aelvin ſtraße\n日本語 needle\n٣٤٥\n")
	w("nul-early.bin", "needle\x00needle\n")
	w("nul-late.txt", "needle early\n"+strings.Repeat("filler line without it\n", 6000)+"needle then \x00 nul\nneedle after\n")
	w("long.txt", strings.Repeat("abc ", 20000)+"needle"+strings.Repeat(" xyz", 20000)+"\nshort needle\n")
	w("code.go", "package x\n\nfunc Foo(a int) error {\n\treturn fmt.Errorf(\"needle: %w\", err) // TODO: x\n}\n\ntype T interface{}\n\t \nfunc (t *T) Bar() {}\n")
	w("code.c", "static int foo_probe(struct device *dev)\n{\n\treturn 0x0000beef;\n}\nSYSCALL_DEFINE3(open, int, x)\n/* FIXME */\n\tif (a->b)\n\t\tABCDE_1234 = 1;\n")
	w("many.txt", manyLines())
	w("a.log", "needle ignored\n")
	w("keep.log", "needle kept\n")
	w("special.log", "needle special\n")
	w("build/out.txt", "needle built\n")
	w("anchored.txt", "needle anchored\n")
	w("sub/anchored.txt", "needle not anchored\n")
	w("doc/x.html", "needle html\n")
	w("doc/y/x.html", "needle html below\n")
	w("deep/ignore.txt", "needle deep\n")
	w("sub/deep/ignx", "needle deep\n")
	w("#hash", "needle hash\n")
	w("trail ", "needle trail\n")
	w("aclass.txt", "needle class\n")
	w("cclass.txt", "needle class\n")
	w("sub/neg/no.txt", "needle neg\n")
	w("sub/neg/yes.txt", "needle pos\n")
	w("excluded.txt", "needle excluded\n")
	w("ignored-by-ignore.txt", "needle\n")
	w("ignored-by-rg.txt", "needle\n")
	w(".hidden/file.txt", "needle hidden\n")
	w(".dotfile", "needle dot\n")
	w("nested/.git/HEAD", "ref\n")
	w("nested/.gitignore", "inner.txt\n")
	w("nested/inner.txt", "needle inner\n")
	w("nested/x.log", "needle outer rule cut off\n")
	w("nested/ignored-by-ignore.txt", "needle outer .ignore counts\n")
	w("worktree/.git", "gitdir: ../.git/worktrees/w\n")
	w("worktree/f.txt", "needle in worktree\n")
	w("with space.txt", "needle space\n")
	w("with\nbreak.txt", "needle in odd name\n")
	w("bad\xffname.txt", "needle in bad name\n")
	w("ünï.txt", "needle in unicode name\n")
	w("-dash.txt", "needle dash\n")
	w("src/a/b/c.ts", "export const needle = 1\n")
	w("src/a/d.tsx", "needle tsx\n")
	w("src/Makefile", "needle:\n")
	symlink(t, "plain.txt", filepath.Join(dir, "link.txt"))
	symlink(t, "sub", filepath.Join(dir, "linkdir"))
	symlink(t, "nowhere", filepath.Join(dir, "dangling"))
	if err := exec.Command("mkfifo", filepath.Join(dir, "fifo")).Run(); err != nil {
		t.Logf("no FIFO in the tree: %v", err)
	}
	return dir
}

func manyLines() string {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "line %d", i)
		if i%37 == 0 {
			b.WriteString(" needle")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func utf16Text(s string, big bool) string {
	var b bytes.Buffer
	for _, r := range "\uFEFF" + s {
		hi, lo := byte(r>>8), byte(r)
		if big {
			b.Write([]byte{hi, lo})
		} else {
			b.Write([]byte{lo, hi})
		}
	}
	return b.String()
}

// runRg runs ripgrep as a harness would and gives its output in lines, sorted, with
// paths relative to dir, and without the notes it mixes in.
func runRg(t testing.TB, rg, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(rg, append([]string{"--no-config", "--hidden", "--glob", "!.git", "--no-heading", "--color=never"}, args...)...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 1 {
		t.Fatalf("rg %q: exit %d: %s", args, code, errs.String())
	}
	return rgLines(out.String())
}

func rgLines(out string) []string {
	var lines []string
	for l := range strings.SplitSeq(strings.TrimSuffix(out, "\n"), "\n") {
		if l == "" || l == "--" || strings.Contains(l, "stopped searching binary file") {
			continue
		}
		lines = append(lines, strings.TrimSuffix(l, "\r"))
	}
	slices.Sort(lines)
	return lines
}

// rgArgs are the arguments that ask ripgrep what q asks.
func rgArgs(q Query) []string {
	args := []string{"-H"}
	switch q.Mode {
	case Files:
		args = []string{"-l"}
	case Count:
		args = append(args, "-c", "--null")
	case Content:
		args = append(args, "-n", "--null")
		if q.Before > 0 {
			args = append(args, fmt.Sprint("-B", q.Before))
		}
		if q.After > 0 {
			args = append(args, fmt.Sprint("-A", q.After))
		}
		if q.OnlyMatching {
			args = append(args, "-o")
		}
	}
	if q.IgnoreCase {
		args = append(args, "-i")
	}
	if q.Multiline {
		args = append(args, "-U", "--multiline-dotall")
	}
	for _, g := range q.Globs {
		args = append(args, "--glob", g)
	}
	for _, ty := range q.Types {
		args = append(args, "--type", ty)
	}
	args = append(args, "-e", q.Pattern)
	if q.Path != "" {
		return append(args, q.Path)
	}
	return append(args, "./")
}

// format writes a result the way ripgrep does with --null, sorted.
func format(q Query, r *Result) []string {
	var lines []string
	for _, h := range r.Hits {
		path := strings.TrimPrefix(h.Path, q.Dir+"/")
		if q.Path == "" {
			path = "./" + path
		} else if filepath.IsAbs(q.Path) {
			path = h.Path
		}
		switch {
		case q.Mode == Files:
			lines = append(lines, path)
		case q.Mode == Count:
			lines = append(lines, fmt.Sprintf("%s\x00%d", path, h.Count))
		case h.Binary:
			lines = append(lines, path+": binary file matches")
		}
		for _, l := range h.Lines {
			sep := "-"
			if l.Match {
				sep = ":"
			}
			lines = append(lines, fmt.Sprintf("%s\x00%d%s%s", path, l.Number, sep, l.Text))
		}
	}
	return rgLines(strings.Join(lines, "\n"))
}

// layers are the ways to answer a query that must all agree.
func layers(t testing.TB) map[string]*Searcher {
	m := map[string]*Searcher{
		"stateless": New(&Options{Stateless: true}),
		"list":      New(&Options{NoIndex: true, CacheBytes: -1}),
		"sweep":     New(&Options{NoWatch: true, IndexFrom: 1}),
		"index":     New(&Options{IndexFrom: 1, CacheBytes: -1}),
		"cache":     New(&Options{NoIndex: true}),
		"all":       New(&Options{IndexFrom: 1}),
		"portable":  New(&Options{Stateless: true, portable: true}),
	}
	for _, s := range m {
		t.Cleanup(func() { s.Close() })
	}
	return m
}

var goldenPatterns = []string{
	"needle", "NEEDLE", "needle$", "^needle", "^needle$", "^$", "", ".*", "a|", "()", `\bneedle\b`, `needle\b`, `\Bneedle`,
	"hay|needle", "TODO|FIXME", `func \w+\(`, `^func .*\{`, `\w+_probe\(`, `0x[0-9a-f]{8}\b`, `[A-Z]{5,}_[0-9]{4,}`,
	`^\s+$`, `\s+$`, "é", "caf.", "x.y", "[^a-z]needle", `\d+`, `^\d+$`, `\w{5,}`, "щ", "日本", `line 1\d{2} needle`,
	"->", "e", "n.*e.*d", `(?i)NeEdLe`, `(?-u)caf\xe9`, "kelvin", "στιγμας", "xyzzy_absent", `needle (?:early|then)`, `\}`, "interface\\{\\}", `^.{3}$`,
}

func TestGoldenTree(t *testing.T) {
	rg := rgtest.Need(t)
	dir := goldenTree(t)
	all := layers(t)
	for _, s := range all {
		answer(t, s, Query{Dir: dir, Pattern: "first"})
		s.WaitIndexed()
	}
	for _, q := range goldenQueries(dir) {
		want := normal(q, runRg(t, rg, q.Dir, rgArgs(q)...))
		for name, s := range all {
			if d := cmp.Diff(want, normal(q, answer(t, s, q))); d != "" {
				t.Errorf("%s, %+v (-rg +ours):\n%s", name, q, d)
			}
		}
	}
}

// TestIndexedFilesThatAllChanged asks when nothing that the index says is about a
// version that is still there.
func TestIndexedFilesThatAllChanged(t *testing.T) {
	rg := rgtest.Need(t)
	dir := goldenTree(t)
	for name, o := range map[string]*Options{"watched": {IndexFrom: 1, CacheBytes: -1}, "swept": {IndexFrom: 1, NoWatch: true}} {
		s := New(o)
		defer s.Close()
		answer(t, s, Query{Dir: dir, Pattern: "first"})
		s.WaitIndexed()
		k := s.trees.kept[0]
		held := make(chan struct{})
		k.index.running = held // so that no other pass starts
		for i, f := range k.tree.Files(dir) {
			at := time.Unix(1e9+int64(i), 0)
			if err := os.Chtimes(f.Path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		for i, q := range goldenQueries(dir) {
			if i%7 > 0 {
				continue
			}
			if d := cmp.Diff(normal(q, runRg(t, rg, q.Dir, rgArgs(q)...)), normal(q, answer(t, s, q))); d != "" {
				t.Errorf("%s, %+v (-rg +ours):\n%s", name, q, d)
			}
		}
		for _, f := range k.tree.Files(dir) {
			if k.index.index.Known(&f.Slot) {
				t.Errorf("%s: %s was indexed again", name, f.Path)
			}
		}
		close(held) // which the end of the searcher waits for
	}
}

// answer asks s and formats the result as ripgrep would.
func answer(t testing.TB, s *Searcher, q Query) []string {
	t.Helper()
	r, err := s.Grep(context.Background(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return format(q, r)
}

func goldenQueries(dir string) []Query {
	var out []Query
	for i, p := range goldenPatterns {
		for _, v := range []Query{
			{Mode: []Mode{Files, Count}[i%2]}, {Mode: Content}, {Mode: Content, IgnoreCase: true, Before: 2 - i%3, After: i % 4},
		} {
			v.Pattern, v.Dir = p, dir
			out = append(out, v)
		}
	}
	for _, p := range []string{"needle", `\w+`, "n.e", "^.", "é|needle"} {
		out = append(out, Query{Pattern: p, Dir: dir, Mode: Content, OnlyMatching: true})
	}
	for _, g := range [][]string{
		{"*.txt"}, {"*.log"}, {"!*.txt"}, {"*.{ts,tsx}"}, {"src/**"}, {"src/**/*.ts"}, {"!src"}, {"!sub/"}, {"*.txt", "!plain.txt"},
		{"sub/*.txt"}, {"**/x.html"}, {"[cp]*.txt"}, {"plain.txt", "code.go"}, {"build/**"}, {".dotfile"}, {"/code.go"}, {"!/src/a/**"},
	} {
		out = append(out, Query{Pattern: "needle", Dir: dir, Globs: g})
	}
	for _, ty := range []string{"go", "c", "ts", "make", "txt", "html", "log"} {
		out = append(out, Query{Pattern: "needle|foo", Dir: dir, Types: []string{ty}})
	}
	for _, p := range []string{"plain.txt", "a.log", "build", "sub", "link.txt", "linkdir", "nested", "src/a", "build/out.txt", ".git/HEAD", "utf16le.txt", "crlf.txt", "empty.txt"} {
		out = append(out, Query{Pattern: "needle", Dir: dir, Path: p, Mode: Content})
	}
	for _, p := range []string{`^\s*$`, `needle\nhay`, `a needle b\n.*\nNEEDLE`, `(?s)func.*?\}`, `needle`, `\{\n\s+return`, `hay\s+a`, `^\n`} {
		out = append(out, Query{Pattern: p, Dir: dir, Multiline: true, Mode: Content, Globs: []string{"!*crlf*", "!blank*"}},
			Query{Pattern: p, Dir: dir, Multiline: true, Globs: []string{"!*crlf*"}})
	}
	return out
}

// normal drops what is meant to differ and has tests of its own: the end of a line
// before a carriage return, the content of cut lines, bytes that are not UTF-8, and
// matches before a late NUL, of which ripgrep prints some or none.
func normal(q Query, lines []string) []string {
	var out []string
	for _, l := range lines {
		l = strings.ToValidUTF8(l, "\uFFFD")
		if strings.Contains(l, "crlf.txt") && (strings.Contains(q.Pattern, "$") || strings.Contains(q.Pattern, "^")) {
			continue
		}
		if strings.Contains(l, "nul-late.txt") {
			continue
		}
		if strings.HasPrefix(l, "./long.txt\x001") {
			l = l[:12]
		}
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}
