package ignore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/rgtest"
	"github.com/haftdev/haft/internal/world/search/tree"
)

func TestRules(t *testing.T) {
	rules := ignore.Parse([]byte("\uFEFF# comment\n*.log\n!keep.log\n/top\ndir/\na/b\n**/deep\ntail/**\nmid/**/end\nsp\\ \ntrim  \n\\#x\n\\!y\n[!a]z\ncr\r\n*.tar.gz\nfoo*bar\n[unclosed\n"))
	for _, c := range []struct {
		path  string
		isDir bool
		want  ignore.Verdict
	}{
		{"x.log", false, ignore.Ignore}, {"d/x.log", false, ignore.Ignore}, {"keep.log", false, ignore.Include},
		{"top", false, ignore.Ignore}, {"d/top", false, ignore.None},
		{"dir", true, ignore.Ignore}, {"dir", false, ignore.None}, {"x/dir", true, ignore.Ignore},
		{"a/b", false, ignore.Ignore}, {"x/a/b", false, ignore.None},
		{"deep", false, ignore.Ignore}, {"x/y/deep", false, ignore.Ignore},
		{"tail/x", false, ignore.Ignore}, {"tail", true, ignore.None},
		{"mid/end", false, ignore.Ignore}, {"mid/x/y/end", false, ignore.Ignore},
		{"sp ", false, ignore.Ignore}, {"trim", false, ignore.Ignore}, {"#x", false, ignore.Ignore}, {"!y", false, ignore.Ignore},
		{"bz", false, ignore.Ignore}, {"az", false, ignore.None}, {"cr", false, ignore.Ignore},
		{"a.tar.gz", false, ignore.Ignore}, {"fooXbar", false, ignore.Ignore}, {"foo/bar", false, ignore.None},
		{"[unclosed", false, ignore.None}, {"comment", false, ignore.None},
	} {
		if got := rules.Match(c.path, c.isDir); got != c.want {
			t.Errorf("%s (directory %v): got %d, want %d", c.path, c.isDir, got, c.want)
		}
	}
}

// randomTree makes files under few names, so that random rules hit them, with rules
// at several levels and sometimes a nested repository.
func randomTree(t *testing.T, r *rand.Rand, dir string, kinds []string) {
	t.Helper()
	names := []string{"a", "b", "foo", "bar.txt", "x.log", ".hid", "foo.txt", "ab", "b.log"}
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			return
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return // a file where a directory would be needed
		}
	}
	for range 30 {
		parts := []string{dir}
		for range 1 + r.IntN(4) {
			parts = append(parts, names[r.IntN(len(names))])
		}
		path := filepath.Join(parts...)
		if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
			write(path, "x\n")
		}
	}
	patterns := []string{"a", "b", "foo", "*.txt", "*.log", "!foo", "!*.txt", "!a", "a/", "foo/", "/a", "/foo/b", "a/b", "**/b", "a/**", "a/**/b",
		"foo*", "?", "[ab]", "[!a]", "*", "!*/", "b/*", "!b/*.txt", ".hid", "*/foo", "\\a", "a?", "**", "foo/**", "!foo/a", "/*/b", "*o*"}
	dirs := []string{dir}
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && r.IntN(3) == 0 {
			dirs = append(dirs, p)
		}
		return nil
	})
	for i, d := range dirs {
		if i > 0 && r.IntN(2) == 0 {
			continue
		}
		var lines []string
		for range 1 + r.IntN(4) {
			lines = append(lines, patterns[r.IntN(len(patterns))])
		}
		write(filepath.Join(d, kinds[r.IntN(len(kinds))]), strings.Join(lines, "\n")+"\n")
	}
}

func rounds(t *testing.T, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv("HAFT_IGNORE_ROUNDS")); err == nil {
		return n
	}
	return fallback
}

// listed gives the files of our walk that are not ignored, relative and sorted.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	tr, err := tree.Build(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var out []string
	for _, f := range tr.Files(dir) {
		if !f.Ignored {
			out = append(out, strings.TrimPrefix(f.Path, dir+"/"))
		}
	}
	slices.Sort(out)
	return out
}

func lines(t *testing.T, dir string, cmd *exec.Cmd) []string {
	t.Helper()
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, errs.String())
	}
	var all []string
	for l := range strings.Lines(string(out)) {
		all = append(all, strings.TrimPrefix(strings.TrimSuffix(l, "\n"), "./"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestAgainstGit compares random .gitignore files with git itself.
func TestAgainstGit(t *testing.T) {
	needtest.Need(t, "git")
	r := rand.New(rand.NewPCG(11, 12))
	for i := range rounds(t, 60) {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("r", i))
		randomTree(t, r, dir, []string{".gitignore"})
		lines(t, dir, exec.Command("git", "init", "-q"))
		want := lines(t, dir, exec.Command("git", "-c", "core.excludesFile=", "-c", "core.quotePath=false", "ls-files", "-co", "--exclude-standard"))
		if d := cmp.Diff(want, listed(t, dir)); d != "" {
			t.Fatalf("round %d (-git +ours):\n%s\n%s", i, d, showRules(t, dir))
		}
	}
}

// TestAgainstRipgrep compares all kinds of ignore files, nested repositories and
// rules above the root.
func TestAgainstRipgrep(t *testing.T) {
	rg := rgtest.Need(t)
	r := rand.New(rand.NewPCG(21, 22))
	for i := range rounds(t, 60) {
		top := filepath.Join(t.TempDir(), fmt.Sprint("r", i))
		randomTree(t, r, top, []string{".gitignore", ".ignore", ".rgignore"})
		if r.IntN(4) > 0 {
			mkdir(t, filepath.Join(top, ".git/info"))
			os.WriteFile(filepath.Join(top, ".git/info/exclude"), []byte([]string{"", "foo\n", "*.log\n", "/a\n"}[r.IntN(4)]), 0o644)
		}
		for _, dir := range []string{top, filepath.Join(top, "a"), filepath.Join(top, "foo")} {
			if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
				continue
			}
			if dir != top && r.IntN(3) == 0 {
				mkdir(t, filepath.Join(dir, ".git"))
			}
			want := lines(t, dir, exec.Command(rg, "--no-config", "--files", "--hidden", "--no-ignore-global", "--glob", "!.git"))
			if d := cmp.Diff(want, listed(t, dir)); d != "" {
				t.Fatalf("round %d, %s (-rg +ours):\n%s\n%s", i, strings.TrimPrefix(dir, top), d, showRules(t, top))
			}
		}
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func showRules(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && (ignore.MarkOf(d.Name()) != 0 || d.Name() == "exclude") {
			text, _ := os.ReadFile(p)
			fmt.Fprintf(&b, "%s: %q\n", strings.TrimPrefix(p, dir), text)
		}
		return nil
	})
	return b.String()
}

func TestGlobalExcludes(t *testing.T) {
	home := t.TempDir()
	env := func(k string) string { return map[string]string{"HOME": home}[k] }
	write := func(name, text string) {
		mkdir(t, filepath.Dir(filepath.Join(home, name)))
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(t, filepath.Join(home, "repo/.git"))
	write("repo/a.tmp", "")
	write("repo/b.bak", "")
	files := func() []string {
		tr, err := tree.Build(context.Background(), filepath.Join(home, "repo"), &tree.Options{
			Global: func() ignore.Global { return ignore.LoadGlobal(env) },
		})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range tr.Files(tr.Root) {
			if !f.Ignored {
				out = append(out, f.Name())
			}
		}
		slices.Sort(out)
		return out
	}
	if d := cmp.Diff([]string{"a.tmp", "b.bak"}, files()); d != "" {
		t.Errorf("without a file: %s", d)
	}
	write(".config/git/ignore", "*.tmp\n")
	if d := cmp.Diff([]string{"b.bak"}, files()); d != "" {
		t.Errorf("git's default file: %s", d)
	}
	write(".gitconfig", "[user]\n\tname = x\n[core]\n\texcludesFile = ~/mine\n")
	write("mine", "*.bak\n")
	if d := cmp.Diff([]string{"a.tmp"}, files()); d != "" {
		t.Errorf("the file that the configuration names: %s", d)
	}
}
