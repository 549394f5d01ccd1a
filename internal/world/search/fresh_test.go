package search

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/rgtest"
)

// editor is another process that changes files when told to: bash, so that every
// kind of change is available, and nothing of ours is in it.
type editor struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startEditor(t *testing.T, dir string) *editor {
	t.Helper()
	cmd := exec.Command("bash", "--norc")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no bash: %v", err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return &editor{in, bufio.NewScanner(out)}
}

// do runs a script to its end.
func (e *editor) do(t *testing.T, script string) {
	t.Helper()
	fmt.Fprintf(e.in, "{ %s\n} >/dev/null 2>&1; echo done\n", script)
	if !e.out.Scan() {
		t.Fatalf("the editor ended in %q", script)
	}
}

// edits are changes that another program may make, to file {f} in round {n}.
var edits = []string{
	`echo "needle {n}" > f{f}.txt`,
	`echo "word{n} needle" >> f{f}.txt`,
	`: > f{f}.txt`,
	`printf x | dd of=f{f}.txt bs=1 seek=2 conv=notrunc`,
	`truncate -s 3 f{f}.txt`,
	`truncate -s 100 f{f}.txt`,
	`fallocate -l 200 f{f}.txt`,
	`fallocate -p -o 1 -l 2 f{f}.txt`,
	`echo "needle moved {n}" > tmp$$ && mv tmp$$ f{f}.txt`,
	`rm -f f{f}.txt`,
	`mkdir -p new{f}/a/b && echo "needle deep {n}" > new{f}/a/b/c.txt`,
	`rm -rf new{f}`,
	`mv new{f} moved{f}`,
	`mv moved{f} sub/`,
	`rm -rf sub/moved{f}`,
	`rm -rf swap && mkdir swap && echo "needle swap {n}" > swap/s.txt`,
	`mkdir other && echo "needle other {n}" > other/s.txt && rm -rf swap && mv other swap`,
	`touch -d "2001-01-01" f{f}.txt`,
	`echo "f{f}.txt" > .gitignore`,
	`echo "new*/" >> sub/.gitignore`,
	`rm -f .gitignore sub/.gitignore`,
	`echo "*.txt" > .ignore`,
	`rm -f .ignore`,
	`echo "f1.txt" > .git/info/exclude`,
	`: > .git/info/exclude`,
	`mkdir -p sub/nest/.git && echo "needle nest" > sub/nest/n.txt`,
	`rm -rf sub/nest`,
	`echo "needle to be linked {n}" > ../outside{f}; ln -f ../outside{f} f{f}.txt`,
	`echo "needle again {n}" >> ../outside{f}`,
	`rm -f ../outside{f}`,
	`chmod 600 f{f}.txt`,
	`ln -sf f{f}.txt link{f}`,
	`printf 'needle\0{n}' > f{f}.txt`,
	`for i in 1 2 3 4 5 6 7 8; do echo "needle burst $i" > burst$i.txt; done`,
	`rm -f burst*.txt`,
	`cp -r sub copy{f}`,
	`rm -rf copy{f}`,
	`git init -q; git add -A; git -c user.name=x -c user.email=x commit -qm x; git stash -u`,
	`git checkout -q .`,
	`echo ".gitignore" > gi; ln -sf ../gi sub/.ignore; echo "f2.txt" >> gi`,
	`rm -f sub/.ignore gi`,
}

// TestFreshness lets another process edit between queries. Each answer must be
// that of a ripgrep run right after the query. HAFT_FRESHNESS_ROUNDS sets how long.
func TestFreshness(t *testing.T) {
	rg := rgtest.Need(t)
	rounds := 80
	if v, err := strconv.Atoi(os.Getenv("HAFT_FRESHNESS_ROUNDS")); err == nil {
		rounds = v
	}
	for name, o := range map[string]*Options{
		"watched":             {NoIndex: true, CacheBytes: -1},
		"watched and indexed": {IndexFrom: 1, CacheBytes: -1},
		"everything on":       {IndexFrom: 1},
		"swept and indexed":   {IndexFrom: 1, NoWatch: true},
		"saved":               {IndexFrom: 1, Saved: t.TempDir(), saveAlways: true},
		"saved and swept":     {IndexFrom: 1, Saved: t.TempDir(), saveAlways: true, NoWatch: true, CacheBytes: -1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			for i := range 12 {
				writeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), fmt.Sprintf("word%d\n", i))
				writeFile(t, filepath.Join(dir, "sub", fmt.Sprintf("g%d.txt", i)), "needle sub\n")
			}
			writeFile(t, filepath.Join(dir, ".git/info/exclude"), "")
			s := New(o)
			defer func() { s.Close() }()
			ed := startEditor(t, dir)
			r := rand.New(rand.NewPCG(7, uint64(len(name))))
			var log []string
			for i := range rounds {
				for range r.IntN(3) {
					e := strings.NewReplacer("{n}", strconv.Itoa(i), "{f}", strconv.Itoa(r.IntN(12))).Replace(edits[r.IntN(len(edits))])
					log = append(log, e)
					ed.do(t, e)
				}
				q := Query{Dir: dir, Pattern: []string{"needle", "word", "x", "deep|swap"}[r.IntN(4)], Mode: Content}
				if r.IntN(4) == 0 {
					q.Path = filepath.Join(dir, "sub")
				}
				got := answer(t, s, q)
				want := runRg(t, rg, dir, rgArgs(q)...)
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("round %d, %+v (-rg +ours):\n%s\nlast edits:\n%s", i, q, d, strings.Join(log[max(0, len(log)-8):], "\n"))
				}
				if r.IntN(3) == 0 {
					s.WaitIndexed()
				}
				if o.Saved != "" && r.IntN(2) == 0 { // another process takes over
					s.Close()
					s = New(o)
				}
				if files, err := s.Glob(context.Background(), GlobQuery{Dir: dir, Pattern: "**/*.txt"}); err != nil {
					t.Fatal(err)
				} else if d := cmp.Diff(rgFiles(t, rg, dir), slices.Sorted(slices.Values(files.Files)), cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("round %d, Glob (-rg +ours):\n%s\nlast edits:\n%s", i, d, strings.Join(log[max(0, len(log)-8):], "\n"))
				}
			}
		})
	}
}

// rgFiles gives the files whose name ends in .txt as ripgrep lists them.
func rgFiles(t *testing.T, rg, dir string) []string {
	t.Helper()
	cmd := exec.Command(rg, "--no-config", "--hidden", "--files", "--glob", "!.git", dir)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		t.Fatal(err)
	}
	files := strings.Fields(string(out))
	files = slices.DeleteFunc(files, func(f string) bool { return !strings.HasSuffix(f, ".txt") })
	slices.Sort(files)
	return files
}

// TestGlobalExcludesThatChange edits the user's own rules between queries.
func TestGlobalExcludesThatChange(t *testing.T) {
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "tree")
	writeFile(t, filepath.Join(dir, ".git/HEAD"), "")
	writeFile(t, filepath.Join(dir, "a.txt"), "needle\n")
	env := func(k string) string { return map[string]string{"HOME": home}[k] }
	s := New(&Options{Global: func() ignore.Global { return ignore.LoadGlobal(env) }})
	defer s.Close()
	q := Query{Dir: dir, Pattern: "needle"}
	for i, rules := range []string{"*.log\n", "*.txt\n", "", "a*\n"} {
		writeFile(t, filepath.Join(home, ".config/git/ignore"), rules)
		hidden := i == 1 || i == 3
		if got := answer(t, s, q); (len(got) == 0) != hidden {
			t.Errorf("with %q: %q", rules, got)
		}
	}
}

// TestHardLinkMadeOutside shows the one change by a local process that inotify does
// not announce and a query that looks at every file finds: a file of the tree gets a
// second name elsewhere and is written through that.
func TestHardLinkMadeOutside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	writeFile(t, filepath.Join(dir, "f.txt"), "hay\n")
	s := New(&Options{NoWatch: true, IndexFrom: 1})
	defer s.Close()
	q := Query{Dir: dir, Pattern: "needle"}
	if got := answer(t, s, q); len(got) > 0 {
		t.Fatalf("found %q too early", got)
	}
	s.WaitIndexed()
	startEditor(t, dir).do(t, "ln f.txt ../g.txt; echo needle > ../g.txt")
	if d := cmp.Diff([]string{"./f.txt"}, answer(t, s, q)); d != "" {
		t.Error(d)
	}
}

// TestFreshOrder is the same for the order of files: newest first, as stat tells.
func TestFreshOrder(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), "needle\n")
	}
	s := New(nil)
	defer s.Close()
	ed := startEditor(t, dir)
	for i := range 30 {
		ed.do(t, fmt.Sprintf("touch f%d.txt; touch -d @%d f%d.txt", i%20, 1000000+i, (i*7)%20))
		r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "needle"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range r.Hits {
			got = append(got, h.Path)
		}
		if d := cmp.Diff(byModTime(t, got), got); d != "" {
			t.Fatalf("round %d (-by stat +got):\n%s", i, d)
		}
	}
}

func byModTime(t *testing.T, paths []string) []string {
	t.Helper()
	out := slices.Clone(paths)
	mtime := func(p string) int64 {
		fi, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		return fi.ModTime().UnixNano()
	}
	slices.SortStableFunc(out, func(a, b string) int {
		if ma, mb := mtime(a), mtime(b); ma != mb {
			return int(max(-1, min(1, mb-ma)))
		}
		return strings.Compare(a, b)
	})
	return out
}
