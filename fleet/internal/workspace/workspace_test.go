package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// run runs a command in a folder, as a user would.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// files returns what a folder has, beside .git.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.IsDir():
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			found[rel] = "-> " + to
		default:
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			info, _ := e.Info()
			found[rel] = fmt.Sprintf("%t %s", info.Mode()&0o100 != 0, raw)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A remote is a repository that workers can reach.
func newRemote(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "remote.git")
	seed := t.TempDir()
	run(t, seed, "git", "init", "-q", "-b", "main")
	write(t, seed, content)
	run(t, seed, "git", "add", "-A", "-f")
	run(t, seed, "git", "commit", "-q", "-m", "first")
	run(t, seed, "git", "clone", "-q", "--bare", seed, dir)
	return dir
}

func open(t *testing.T, o Options) *Workspace {
	t.Helper()
	o.Run = "run-1"
	w, err := Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func store(t *testing.T, w *Workspace, call string) *Point {
	t.Helper()
	p, err := w.Store(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func push(t *testing.T, w *Workspace, branch string, expected ...string) (string, error) {
	t.Helper()
	commit, err := w.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return commit, w.Push(t.Context(), branch, commit, expected)
}

// What one machine stores after a call, another one has byte for byte: new, changed, deleted and
// renamed files, links, modes, odd names, line ends, commits and branches.
func TestAnotherMachineHasTheSameFiles(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", "gone.txt": "gone\n", "crlf.txt": "one\ntwo\n", ".gitattributes": "crlf.txt text eol=crlf\n", ".gitignore": "*.log\nbuild/\n"})
	blobs := blob.Dir(t.TempDir())
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blobs})
	if got := files(t, w.Folder())["crlf.txt"]; got != "false one\r\ntwo\r\n" {
		t.Errorf("checked out as %q", got)
	}
	write(t, w.Folder(), map[string]string{"a.txt": "changed\n", "new/deep/x": "\x00\xff\r\n", "tab\tquote\"back\\new\nline": "odd", "x.log": "ignored", "build/out": "ignored", "crlf.txt": "one\nlone\r"})
	run(t, w.Folder(), "sh", "-c", "rm gone.txt && mv dir/b.txt dir/c.txt && ln -s ../a.txt dir/link && ln -s /etc/passwd outside && chmod +x a.txt")
	first := store(t, w, "call-1")
	run(t, w.Folder(), "git", "checkout", "-q", "-b", "topic")
	run(t, w.Folder(), "git", "add", "a.txt")
	run(t, w.Folder(), "git", "commit", "-q", "-m", "mine")
	write(t, w.Folder(), map[string]string{"a.txt": "after the commit\n"})
	last := store(t, w, "call-2")
	want := files(t, w.Folder())
	delete(want, "x.log")
	delete(want, "build/out")
	if first.Commit == last.Commit || last.Call != "call-2" || len(last.Left) > 0 {
		t.Errorf("points %+v and %+v", first, last)
	}

	other := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: blobs, Last: last})
	if got := files(t, other.Folder()); !maps.Equal(got, want) {
		t.Errorf("restored %q\nwant %q", got, want)
	}
	for _, args := range [][]string{{"git", "log", "--format=%H %s", "-3"}, {"git", "symbolic-ref", "HEAD"}, {"git", "diff", "HEAD", "--stat"}, {"git", "for-each-ref", "refs/heads", "refs/remotes"}, {"git", "status", "--porcelain"}} {
		if args[1] == "status" {
			run(t, w.Folder(), "git", "reset", "-q")
		}
		if got, want := run(t, other.Folder(), args...), run(t, w.Folder(), args...); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", args, got, want)
		}
	}
	run(t, other.Folder(), "git", "fsck", "--connectivity-only")
	// It continues from there, and the first one can follow.
	write(t, other.Folder(), map[string]string{"a.txt": "elsewhere\n"})
	third := store(t, other, "call-3")
	w.Close()
	back := open(t, Options{Dir: w.Dir, Spec: w.Spec, Blobs: blobs, Last: third})
	want["a.txt"] = "true elsewhere\n"
	if got := files(t, back.Folder()); !maps.Equal(got, want) || back.Folder() != w.Folder() {
		t.Errorf("came back as %q\nwant %q", got, want)
	}
}

// Many calls make few packs, and any of their points can be restored.
func TestManyPoints(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "0"})
	blobs := blob.Dir(t.TempDir())
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote}, Blobs: blobs})
	var points []*Point
	for n := range maxPacks + 3 {
		write(t, w.Folder(), map[string]string{"a": fmt.Sprint(n), fmt.Sprintf("f%d", n): "x"})
		points = append(points, store(t, w, fmt.Sprint(n)))
		if again := store(t, w, "again"); again.Commit != points[n].Commit || len(again.Packs) != len(points[n].Packs) {
			t.Errorf("a call that changed nothing stored %+v after %+v", again, points[n])
		}
	}
	if n := len(points[len(points)-1].Packs); n > maxPacks {
		t.Errorf("%d packs", n)
	}
	for _, n := range []int{0, maxPacks - 1, maxPacks, maxPacks + 2} {
		other := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: blobs, Last: points[n]})
		if got := files(t, other.Folder()); got["a"] != "false "+fmt.Sprint(n) || len(got) != n+2 {
			t.Errorf("point %d has %q", n, got)
		}
	}
}

// Secrets, files that are too large and repositories of their own are not stored, and that is said.
func TestWhatIsNotStoredIsSaid(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a", "tracked.env": "OLD=1"})
	blobs := blob.Dir(t.TempDir())
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote}, Blobs: blobs})
	write(t, w.Folder(), map[string]string{".env": "TOKEN=topsecret-1", "tracked.env": "NEW=topsecret-2"})
	run(t, w.Folder(), "truncate", "-s", "65M", "huge")
	run(t, w.Folder(), "git", "init", "-q", "inner")
	write(t, w.Folder(), map[string]string{"inner/x": "x"})
	p := store(t, w, "call")
	if text := strings.Join(p.Left, "\n"); !strings.Contains(text, ".env: its name is that of a secret") || !strings.Contains(text, "tracked.env: its name is that of a secret") || !strings.Contains(text, "huge: it is larger than 64 MB") || !strings.Contains(text, "inner/: it is a git repository itself") || len(p.Left) != 4 {
		t.Errorf("left out:\n%s", text)
	}
	for _, digest := range p.Packs {
		raw, err := blobs.Get(t.Context(), digest)
		if err != nil || bytes.Contains(raw, []byte("topsecret")) {
			t.Errorf("a pack: %v", err)
		}
	}
	other := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: blobs, Last: p})
	if got := files(t, other.Folder()); len(got) != 2 || got["tracked.env"] != "false OLD=1" {
		t.Errorf("restored %q", got)
	}
	// What no other place has is not deleted.
	w.Close()
	var aside []*Aside
	if err := Sweep(t.Context(), &SweepOptions{Dir: w.Dir, Needed: never, Aside: func(a *Aside) { aside = append(aside, a) }}); err != nil {
		t.Fatal(err)
	}
	if len(aside) != 1 || files(t, aside[0].Path)[".env"] != "false TOKEN=topsecret-1" {
		t.Errorf("moved aside %+v", aside)
	}
}

// A folder that a worker left is used again if it is what was stored, moved aside if it has more, and
// removed when it is not wanted.
func TestALeftFolder(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a", ".gitignore": "cache\n"})
	o := Options{Dir: t.TempDir(), Spec: Spec{Repository: remote}, Blobs: blob.Dir(t.TempDir())}
	var aside []*Aside
	o.Aside = func(a *Aside) { aside = append(aside, a) }
	w := open(t, o)
	write(t, w.Folder(), map[string]string{"a": "b", "cache": "costly"})
	o.Last = store(t, w, "call-1")
	w.Close()
	w = open(t, o)
	if got := files(t, w.Folder()); got["cache"] != "false costly" || len(aside) != 0 {
		t.Errorf("used again as %q, moved aside %v", got, aside)
	}
	write(t, w.Folder(), map[string]string{"a": "half a call"})
	w.Close()
	w = open(t, o)
	if got := files(t, w.Folder()); got["a"] != "false b" || len(aside) != 1 || aside[0].Run != "run-1" || aside[0].Call != "call-1" {
		t.Fatalf("restored %q, moved aside %+v", got, aside)
	}
	if got := files(t, aside[0].Path); got["a"] != "false half a call" {
		t.Errorf("aside is %q", got)
	}
	// A commit is a change as well.
	run(t, w.Folder(), "git", "commit", "-q", "-a", "-m", "unseen")
	w.Close()
	if w = open(t, o); len(aside) != 2 {
		t.Errorf("moved aside %+v", aside)
	}
	// While it is used, nobody else gets it, and it is not swept.
	second := open(t, o)
	if second.Folder() == w.Folder() {
		t.Error("two have the same folder")
	}
	for _, left := range []int{2, 0} {
		if err := Sweep(t.Context(), &SweepOptions{Dir: o.Dir, Needed: never, Aside: o.Aside}); err != nil {
			t.Fatal(err)
		}
		list, _ := os.ReadDir(filepath.Join(o.Dir, "runs"))
		if len(list) != left || len(aside) != 2 {
			t.Errorf("%d folders are left, %d aside", len(list), len(aside))
		}
		w.Close()
		second.Close()
	}
	if list, _ := os.ReadDir(filepath.Join(o.Dir, "locks")); len(list) != 0 {
		t.Errorf("%d locks are left", len(list))
	}
}

// A worker is killed after it has stored something and before the journal has it: only its folder
// says where that is, so it is kept. Once the journal has it, the folder is not needed.
func TestAFolderThatTheJournalDoesNotKnow(t *testing.T) {
	t.Parallel()
	var aside []*Aside
	o := Options{Dir: t.TempDir(), Spec: Spec{Repository: newRemote(t, map[string]string{"a": "a"})}, Blobs: blob.Dir(t.TempDir())}
	o.Aside = func(a *Aside) { aside = append(aside, a) }
	w := open(t, o)
	write(t, w.Folder(), map[string]string{"a": "journalled"})
	o.Last = store(t, w, "call-1")
	sweep := func(last *Point) {
		t.Helper()
		w.Close()
		needed := func(string, *Point) (bool, *Point) { return false, last }
		if err := Sweep(t.Context(), &SweepOptions{Dir: o.Dir, Blobs: o.Blobs, Needed: needed, Aside: o.Aside}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(w.Folder()); err == nil {
			t.Error("the folder is still there")
		}
	}
	write(t, w.Folder(), map[string]string{"a": "stored only"})
	later := store(t, w, "call-2")
	if sweep(o.Last); len(aside) != 1 || files(t, aside[0].Path)["a"] != "false stored only" {
		t.Errorf("moved aside %+v", aside)
	}
	for _, last := range []*Point{o.Last, later} { // the folder is what the journal has, and older
		w = open(t, o)
		if sweep(last); len(aside) != 1 {
			t.Errorf("moved aside %+v", aside)
		}
	}
}

// Stored files that are damaged or missing are not replaced by others.
func TestDamagedPoints(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a"})
	dir := t.TempDir()
	o := Options{Dir: t.TempDir(), Spec: Spec{Repository: remote}, Blobs: blob.Dir(dir)}
	w := open(t, o)
	write(t, w.Folder(), map[string]string{"a": "b"})
	o.Last = store(t, w, "call-1")
	missing, wrong := *o.Last, *o.Last
	missing.Packs = []string{strings.Repeat("0", 64)}
	wrong.Tree = strings.Repeat("1", 40)
	for name, last := range map[string]*Point{"missing": &missing, "wrong": &wrong} {
		o.Dir, o.Last, o.Run = t.TempDir(), last, "run-1"
		var damaged *DamagedError
		if _, err := Open(t.Context(), &o); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a command writes into the folder's repository makes git run nothing here, and links lead
// nowhere.
func TestAHostileFolder(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a", "dir/secret.txt": "mine"})
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret.txt": "outside-content"})
	mark := filepath.Join(t.TempDir(), "ran")
	blobs := blob.Dir(t.TempDir())
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote}, Blobs: blobs})
	evil := "touch " + mark
	write(t, w.Folder(), map[string]string{".gitattributes": "* filter=evil diff=evil\n", "b": "b"})
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.external", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "credential.helper", "core.gitProxy"} {
		run(t, w.Folder(), "git", "config", key, evil)
	}
	for _, hook := range []string{"post-checkout", "pre-commit", "reference-transaction", "post-index-change", "pre-push"} {
		write(t, w.Folder(), map[string]string{".git/hooks/" + hook: "#!/bin/sh\n" + evil + "\n"})
		if err := os.Chmod(filepath.Join(w.Folder(), ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, w.Folder(), "sh", "-c", "rm -r dir && ln -s "+outside+" dir && mkfifo pipe")
	write(t, w.Folder(), map[string]string{".git/refs/heads/other": run(t, remote, "git", "rev-parse", "HEAD") + "\n"})
	p := store(t, w, "call")
	if _, err := push(t, w, "result", ""); err != nil {
		t.Error(err)
	}
	w.Close()
	other := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: blobs, Last: p})
	if _, err := os.Lstat(mark); err == nil {
		t.Error("git ran what a command had written")
	}
	if got := files(t, other.Folder()); got["dir"] != "-> "+outside || got["b"] != "false b" {
		t.Errorf("restored %q", got)
	}
	if got := run(t, remote, "git", "ls-tree", "-r", "result"); strings.Contains(got, "secret.txt") {
		t.Errorf("pushed:\n%s", got)
	}
	// A repository that is broken does not keep the files from being stored.
	run(t, other.Folder(), "sh", "-c", "echo garbage >.git/index; echo garbage >.git/HEAD; rm -r .git/objects; echo c >c")
	p = store(t, other, "call-2")
	third := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: blobs, Last: p})
	if got := files(t, third.Folder()); got["c"] != "false c\n" || len(p.Left) == 0 {
		t.Errorf("restored %q, left out %q", got, p.Left)
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n", "crlf": "x\n", ".gitattributes": "crlf text eol=crlf\n"})
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blob.Dir(t.TempDir())})
	base := run(t, remote, "git", "rev-parse", "main")
	store(t, w, "")
	if c, err := push(t, w, "haft/x", ""); err != nil || c != base {
		t.Errorf("pushed %s, %v; want %s, which nothing has changed", c, err, base)
	}
	write(t, w.Folder(), map[string]string{"a": "b\n", "new": "n"})
	run(t, w.Folder(), "git", "commit", "-q", "-a", "-m", "mine")
	store(t, w, "call")
	c, err := push(t, w, "haft/x", base)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := push(t, w, "haft/x", base); again != c || err != nil {
		t.Errorf("pushed again as %s, %v", again, err)
	}
	if got := run(t, remote, "git", "log", "--format=%s", "haft/x"); got != "Uncommitted changes of run run-1\nmine\nfirst" {
		t.Errorf("history:\n%s", got)
	}
	if got := run(t, remote, "git", "diff", "--name-only", "main", "haft/x"); got != "a\nnew" {
		t.Errorf("changed:\n%s", got)
	}
	// A worker that pushed and then ended has left a commit of which only that is known.
	write(t, w.Folder(), map[string]string{"a": "c\n"})
	store(t, w, "call-2")
	var refused *RefusedError
	if _, err := push(t, w, "haft/x", base); !errors.As(err, &refused) {
		t.Errorf("a commit that is not known was replaced: %v", err)
	}
	if _, err := push(t, w, "haft/x", base, c); err != nil {
		t.Error(err)
	}
	if _, err := push(t, w, "main", ""); !errors.As(err, &refused) {
		t.Errorf("main was pushed: %v", err)
	}
	if got := run(t, remote, "git", "rev-parse", "main"); got != base {
		t.Error("main has changed")
	}
	to := filepath.Join(t.TempDir(), "export")
	if err := w.Export(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	run(t, to, "git", "fsck", "--full")
	if got := files(t, to); got["new"] != "false n" || run(t, to, "git", "log", "-1", "--format=%s") != "mine" {
		t.Errorf("exported %q", got)
	}
}

// What cannot be is refused at once; what may pass is not.
func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a"})
	headless := newRemote(t, map[string]string{"a": "a"})
	run(t, headless, "git", "symbolic-ref", "HEAD", "refs/heads/gone")
	for _, c := range []struct {
		spec    Spec
		refused bool
		says    string
	}{
		{Spec{Repository: remote, Ref: "none"}, true, "has no branch, tag or commit \"none\". Push it"},
		{Spec{Repository: headless}, true, "the default branch of " + headless + " does not exist. Name a branch"},
		{Spec{Repository: remote, Ref: strings.Repeat("1", 40)}, true, "could not fetch the commit "},
		{Spec{Repository: "/does/not/exist"}, false, "could not fetch /does/not/exist"},
		{Spec{Repository: "ssh://127.0.0.1:1/x", Ref: "main"}, false, "could not fetch ssh://127.0.0.1:1/x@main"},
		{Spec{Repository: "--upload-pack=touch /tmp/x"}, true, "is not a valid repository"},
		{Spec{Repository: "ext::sh -c touch% /tmp/x"}, true, "is not a valid repository"},
		{Spec{Repository: "ext::sh"}, true, "is not a valid repository"},
		{Spec{Repository: "relative/path"}, true, "is not a valid repository"},
		{Spec{Repository: "ssh://-oProxyCommand=x/y"}, true, "is not a valid repository"},
		{Spec{Repository: "git@-oProxyCommand:x"}, true, "is not a valid repository"},
		{Spec{Repository: "http://example.com/x"}, true, "neither an https or ssh address"},
		{Spec{Repository: "https://user:token@example.com/x"}, true, "credential helper"},
		{Spec{Repository: "https://token@example.com/x"}, true, "credential helper"},
		{Spec{Repository: "http://user:hunter2@example.com/x"}, true, "credential helper"},
		{Spec{Repository: "https://user:hunter2@example.com/x y"}, true, "https://…@example.com/x y\" is not a valid repository"},
		{Spec{Repository: "user:hunter2@example.com:x"}, true, "…@example.com:x\" is not a valid repository"},
		{Spec{Repository: "https://example.com/x?token=hunter2"}, true, "a query or a fragment"},
		{Spec{Repository: "https://example.com/x#hunter2"}, true, "a query or a fragment"},
		{Spec{Repository: remote, Ref: "--upload-pack=x"}, true, "is not a valid ref"},
		{Spec{Repository: remote, Ref: "a..b"}, true, "is not a valid ref"},
		{Spec{Repository: remote, Ref: "a:b"}, true, "is not a valid ref"},
		{Spec{Repository: remote, Ref: "a\nb"}, true, "is not a valid ref"},
	} {
		o := Options{Dir: t.TempDir(), Run: "run-1", Spec: c.spec, Blobs: blob.Dir(t.TempDir())}
		_, err := Open(t.Context(), &o)
		var refused *RefusedError
		if err == nil || errors.As(err, &refused) != c.refused || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v", c.spec, err)
		}
		if list, _ := os.ReadDir(filepath.Join(o.Dir, "locks")); len(list) > 0 {
			t.Errorf("%+v: a lock is left", c.spec)
		}
	}
	for _, spec := range []Spec{{Repository: remote, Ref: "main"}, {Repository: remote, Ref: "refs/heads/main"}, {Repository: remote, Ref: "HEAD"}, {Repository: remote}, {Repository: "file://" + remote}, {Repository: remote, Ref: run(t, remote, "git", "rev-parse", "main")}} {
		w := open(t, Options{Dir: t.TempDir(), Spec: spec, Blobs: blob.Dir(t.TempDir())})
		if got := files(t, w.Folder()); len(got) != 1 {
			t.Errorf("%s: %q", &spec, got)
		}
	}
}

// A full disk is named, and what is not stored is no point.
func TestTheStoreIsFull(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a"})
	full := &fullStore{}
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote}, Blobs: full})
	write(t, w.Folder(), map[string]string{"a": "b"})
	if p, err := w.Store(t.Context(), "call"); err == nil || !strings.Contains(err.Error(), "store the files of the run: no room") {
		t.Errorf("stored %+v, %v", p, err)
	}
	full.Store = blob.Dir(t.TempDir())
	p := store(t, w, "call")
	other := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: full, Last: p})
	if got := files(t, other.Folder()); got["a"] != "false b" {
		t.Errorf("restored %q", got)
	}
}

type fullStore struct{ blob.Store }

func (f *fullStore) Put(ctx context.Context, digest string, b []byte) error {
	if f.Store == nil {
		return errors.New("no room")
	}
	return f.Store.Put(ctx, digest, b)
}
