//go:build unix

package guard_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/guard"
)

// corpusCase is one line of testdata/path.jsonl: a path, how to set up what it names, and the view of the guard without rules.
type corpusCase struct {
	Tool, Path, Setup, Socket, Cwd, Expect, Why string
}

func corpus(t *testing.T) []corpusCase {
	t.Helper()
	f, err := os.Open("testdata/path.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []corpusCase
	for s := bufio.NewScanner(f); s.Scan(); {
		var c corpusCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// project makes an empty project directory and a home beside it.
func project(t *testing.T) (dir, home string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "p")
	home = dir + ".home"
	for _, d := range []string{dir, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", base).Run() })
	return dir, home
}

func setUp(t *testing.T, script, dir, home string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "P="+dir, "HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setup %q: %v\n%s", script, err, out)
	}
}

func newGuard(t *testing.T, dir, home string) *guard.Guard {
	t.Helper()
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: home,
		AgentDirs: []string{home + "/.claude", home + "/.haft", home + "/.config/haft", home + "/.config/agent"}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCorpus(t *testing.T) {
	cases := corpus(t)
	if len(cases) < 111 {
		t.Fatalf("%d cases, want all 111", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Tool+" "+c.Why, func(t *testing.T) {
			dir, home := project(t)
			setUp(t, c.Setup, dir, home)
			if c.Socket != "" {
				needtest.Socket(t, filepath.Join(dir, c.Socket))
			}
			op := guard.Write
			if c.Tool == "Read" {
				op = guard.Read
			}
			f := newGuard(t, dir, home).At(strings.ReplaceAll(c.Cwd, "$P", dir)).Look(strings.ReplaceAll(c.Path, "$P", dir))
			if v := f.Verdict(op); v.Decision.String() != c.Expect {
				t.Errorf("%s %q: %s (%s), want %s\n%+v", c.Tool, c.Path, v.Decision, v.Reason, c.Expect, f)
			} else if v.Decision != guard.Allow && v.Reason == "" {
				t.Errorf("%s without a reason", v.Decision)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	dir, home := project(t)
	setUp(t, `mkdir -p a/b && echo x > a/b/f && ln -s a/b short && ln -s short/f deep && ln -s nowhere/else dangling`, dir, home)
	g := newGuard(t, dir, home)
	f := g.Look("deep")
	want := guard.Facts{Given: "deep", Path: dir + "/deep", Real: dir + "/a/b/f", Relative: true, Root: dir, Exists: true,
		Links: []guard.Link{{dir + "/deep", dir + "/short/f"}, {dir + "/short", dir + "/a/b"}}}
	f.Info = want.Info
	if d := cmp.Diff(want, f, cmp.AllowUnexported(guard.Facts{})); d != "" {
		t.Error(d)
	}
	if f := g.Look("dangling"); f.Exists || f.Real != dir+"/nowhere/else" || f.Kind() != "missing" {
		t.Errorf("dangling link: %+v", f)
	}
	// What is to be made is missing, however deep, and that is no error.
	if f := g.Look("new/deep/file"); f.Exists || f.Err != nil || f.Real != dir+"/new/deep/file" || f.Verdict(guard.Write).Decision != guard.Allow {
		t.Errorf("missing folders: %+v, %v", f, f.Verdict(guard.Write))
	}
	if f := g.Look(dir + "/a/b"); f.Kind() != "directory" || f.Relative {
		t.Errorf("directory: %+v", f)
	}
}

func TestAParentIsThatOfWhereALinkLeads(t *testing.T) {
	dir, home := project(t)
	setUp(t, `mkdir -p a/b; echo x > a/f; echo y > f; ln -s a/b link`, dir, home)
	g := newGuard(t, dir, home)
	if f := g.Look(dir + "/link/../f"); f.Real != dir+"/a/f" || f.Path != f.Real {
		t.Errorf("path %s, really %s", f.Path, f.Real)
	}
	for _, p := range []string{"/nothing/../f", "/f/../f"} {
		if f := g.Look(dir + p); f.Exists || !errors.Is(f.Err, guard.ErrLost) {
			t.Errorf("%s: exists %v, error %v", p, f.Exists, f.Err)
		}
	}
}

func TestRootsMayLieBehindLinks(t *testing.T) {
	dir, home := project(t)
	setUp(t, `echo x > f; ln -s $P $P.link`, dir, home)
	g, err := guard.New(&guard.Options{Roots: []string{dir + ".link"}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"f", dir + "/f", dir + ".link/f"} {
		if f := g.Look(p); f.Root != dir || f.Verdict(guard.Write).Decision != guard.Allow {
			t.Errorf("%s: root %q, %v", p, f.Root, f.Verdict(guard.Write))
		}
	}
	if _, err := guard.New(&guard.Options{Roots: []string{dir + "/f"}}); err == nil {
		t.Error("a file is no root")
	}
}

func TestAddedDirectoriesAreRoots(t *testing.T) {
	dir, home := project(t)
	other, _ := project(t)
	g, err := guard.New(&guard.Options{Roots: []string{dir, other}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if f := g.Look(other + "/x"); f.Root != other || f.Verdict(guard.Write).Decision != guard.Allow {
		t.Errorf("%+v", f)
	}
}

// What nobody has set is the first root for relative paths, and the usual folders of agents.
func TestWhatIsLeftOutOfTheOptions(t *testing.T) {
	dir, home := project(t)
	other, _ := project(t)
	g, err := guard.New(&guard.Options{Roots: []string{dir, other}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if f := g.Look("x"); g.Cwd() != dir || f.Real != dir+"/x" {
		t.Errorf("relative paths start from %s: %s", g.Cwd(), f.Real)
	}
	for _, p := range []string{"/.claude/settings.json", "/.haft/x", "/.config/haft/x", "/.config/agent/x"} {
		if v := g.Look(home + p).Verdict(guard.Write); v.Decision != guard.Deny {
			t.Errorf("~%s may be written: %v", p, v)
		}
	}
	g, err = guard.New(&guard.Options{Roots: []string{dir}, Cwd: dir + "/sub", Home: home, AgentDirs: []string{home + "/mine"}})
	if err != nil {
		t.Fatal(err)
	}
	if f := g.Look("x"); f.Real != dir+"/sub/x" {
		t.Errorf("relative paths do not start from the directory that was set: %s", f.Real)
	}
	if v := g.Look(home + "/mine/x").Verdict(guard.Write); v.Decision != guard.Deny {
		t.Errorf("a folder that was set may be written: %v", v)
	}
	if v := g.Look(home + "/.config/agent/x").Verdict(guard.Write); v.Decision == guard.Deny {
		t.Errorf("a folder that was not set is denied: %v", v)
	}
}

func TestLinksWithoutEndAreDenied(t *testing.T) {
	dir, home := project(t)
	setUp(t, `ln -s b a; ln -s a b`, dir, home)
	if v := newGuard(t, dir, home).Look("a").Verdict(guard.Read); v.Decision != guard.Deny {
		t.Errorf("verdict %v", v)
	}
}

func TestTwentyWaysToAnEnvFile(t *testing.T) {
	dir, home := project(t)
	setUp(t, `mkdir -p sub src; echo K=1 > .env; cp .env sub/.env; cp .env sub/.env.production; cp .env .ENV; cp .env '.env.'; cp .env '.env '
		ln -s .env plain; ln -s plain plain2; ln -s . here; ln -s ../.env src/config; ln -s $P/.env abs; ln -s sub subl`, dir, home)
	for _, p := range []string{".env", "./.env", dir + "/.env", "sub/.env", "sub/../.env", ".ENV", ".env.", ".env ", "plain", "plain2", "here/.env",
		"src/config", "abs", "subl/.env", "subl/../.env", "here/here/plain", "sub/.env.production", ".env::$DATA", "ENV~1", "．env", ".e\u200bnv", "//" + dir + "//.env"} {
		if v := newGuard(t, dir, home).Look(p).Verdict(guard.Read); v.Decision == guard.Allow {
			t.Errorf("%q is read without asking", p)
		}
	}
}

func TestLookNeverBlocks(t *testing.T) {
	dir, home := project(t)
	setUp(t, `mkfifo pipe`, dir, home)
	done := make(chan struct{})
	go func() {
		defer close(done)
		g := newGuard(t, dir, home)
		for _, p := range []string{"pipe", "/dev/zero", "/dev/random", "/proc/kmsg", "/dev/stdin", "/proc/self/fd/0"} {
			g.Look(p)
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a look blocks")
	}
}

// FuzzLook: no path makes the guard panic, and none that it allows to be written lies outside the root.
func FuzzLook(f *testing.F) {
	for _, s := range []string{"a", "../x", "/etc/passwd", "a/../../b", "~/x", "link/../x", "\\\\x", "a\x00b", "．git/config"} {
		f.Add(s)
	}
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "link")); err != nil {
		f.Fatal(err)
	}
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: "/nonexistent"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, p string) {
		facts := g.Look(p)
		if facts.Verdict(guard.Write).Decision == guard.Allow && facts.Real != dir && !strings.HasPrefix(facts.Real, dir+"/") {
			t.Fatalf("%q may be written, at %q", p, facts.Real)
		}
	})
}

// A look at the whole of a path finds what looks at each of its parts find.
func TestALookAtOnceIsTheSame(t *testing.T) {
	dir, home := project(t)
	setUp(t, `mkdir -p a/b; echo x > a/f; ln -s a/b link; ln -s a/f file; ln -s nowhere gone; ln -s loop loop; mkfifo pipe; mkdir closed; echo x > closed/f; chmod 0 closed`, dir, home)
	once := newGuard(t, dir, home)
	parts, err := guard.New(&guard.Options{Roots: []string{dir}, Home: home, FS: struct{ disk.FS }{disk.OS()},
		AgentDirs: []string{home + "/.claude", home + "/.haft", home + "/.config/haft", home + "/.config/agent"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{
		"a", "a/f", "a/b/", "a//f", "./a/f", "a/../a/f", "a/f/x", "link", "link/x", "link/../f", "file", "gone", "loop", "pipe", "closed/f", "new", "new/x", ".env", "..", "/",
		"/proc/self/exe", "/proc/self/fd/0", "/dev/null", "~/.ssh/id_rsa", home + "/.claude/x", "a\x00b",
	} {
		opt := cmp.Options{cmp.AllowUnexported(guard.Facts{}), cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error()) })}
		for range 2 { // the second time from memory
			if d := cmp.Diff(parts.Look(p), once.Look(p), opt); d != "" {
				t.Errorf("%s (-by parts +at once):\n%s", p, d)
			}
		}
	}
}

// A change is refused for what it could do, not for what the file may tell a reader.
func TestWritingHasAReasonOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	setUp(t, "mkdir -p $P/.git/objects $P/.git/refs && echo ref > $P/.git/HEAD", dir, t.TempDir())
	g := newGuard(t, dir, t.TempDir())
	for path, want := range map[string][2]string{
		".git/config": {"addresses in a repository's settings may contain a password", "version control files can run programs"},
		".env":        {"a file with secrets", "a file with secrets"},
	} {
		f := g.Look(filepath.Join(dir, path))
		if got := [2]string{f.Sensitive.What, f.Sensitive.Written()}; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		for i, op := range []guard.Op{guard.Read, guard.Write} {
			if reason := f.Verdict(op).Reason; !strings.Contains(reason, want[i]) {
				t.Errorf("%s: the verdict gives the reason %q", path, reason)
			}
		}
	}
}
