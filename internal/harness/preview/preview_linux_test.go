package preview_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A bench is a project, a shell in it and a session for its changes.
type bench struct {
	testing.TB
	project, store string
	host           *shellrun.Host
	shell          *shellrun.Shell
	session        *session.Session
	request        preview.Request
}

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	needtest.Need(t, needtest.Overlay)
	needtest.Program(t, "bash")
	b := &bench{TB: t, project: real(t, t.TempDir()), store: real(t, t.TempDir())}
	b.host = shellrun.NewHost(&shellrun.Options{Reexec: reexec, NoProfile: true})
	t.Cleanup(func() {
		if err := b.host.Close(); err != nil {
			t.Error(err)
		}
	})
	b.shell = b.host.NewShell(b.project)
	var err error
	b.session, err = session.Open(t.TempDir()).Create(t.Context(), &session.CreateOptions{Cwd: b.project})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.session.Close() })
	b.request = preview.Request{Shell: b.shell, Dirs: []string{b.project}, Store: b.store}
	for name, content := range files {
		b.write(name, content)
	}
	settle()
	return b
}

func real(t testing.TB, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// settle waits until the clock of file systems has ticked, so that what was written
// before is older than what comes.
func settle() { time.Sleep(12 * time.Millisecond) }

func (b *bench) write(name, content string) {
	b.Helper()
	path := filepath.Join(b.project, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		b.Fatal(err)
	}
}

// run previews a command.
func (b *bench) run(command string) (*preview.Result, error) {
	b.Helper()
	r := b.request
	r.Command = shellrun.Request{Command: command, Timeout: time.Minute}
	result, err := preview.Run(context.Background(), r)
	if result != nil {
		b.Cleanup(func() {
			if err := result.Drop(); err != nil {
				b.Error(err)
			}
		})
	}
	return result, err
}

func (b *bench) mustRun(command string) *preview.Result {
	b.Helper()
	result, err := b.run(command)
	if err != nil {
		b.Fatalf("%s: %v", command, err)
	}
	return result
}

func (b *bench) shown(r *preview.Result) *tool.Preview {
	b.Helper()
	p, err := r.Preview(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func (b *bench) apply(r *preview.Result) {
	b.Helper()
	if err := r.Apply(b.Context(), b.session, "call-1"); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) rewind(to string) {
	b.Helper()
	plan, err := checkpoint.NewPlan(b.Context(), b.session.Path(), to, b.session.Blobs())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := plan.Apply(b.Context(), b.session, nil); err != nil {
		b.Fatal(err)
	}
}

// tree lists a folder: per path kind, mode, content or target, and attributes.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case e.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + target
		}
		found[name] = text + checkpoint.Attrs(path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// paths lists what a preview shows, relative to the project, with a sign each.
func (b *bench) paths(p *tool.Preview) []string {
	var list []string
	for _, f := range p.Files {
		sign := "~"
		if f.Before == nil {
			sign = "+"
		} else if f.After == nil {
			sign = "-"
		}
		rel, _ := filepath.Rel(b.project, f.Path)
		list = append(list, sign+rel)
	}
	return list
}

func TestAPreviewShowsAndThenMakesTheChange(t *testing.T) {
	b := newBench(t, map[string]string{"keep": "1\n", "change": "2\n", "delete": "3\n", "sub/inner": "4\n", "replaced/old": "5\n", "touched": "6\n"})
	before := tree(t, b.project)
	r := b.mustRun(`echo more >> change; rm delete; echo new > "odd, name:x"; rm -r replaced; mkdir replaced; echo 7 > replaced/new; touch touched; chmod 600 sub/inner; ln -s /etc/passwd link; mkdir -p empty/one; mkfifo pipe`)
	if diff := cmp.Diff(before, tree(t, b.project)); diff != "" {
		t.Fatalf("running it has changed the project: %s", diff)
	}
	p := b.shown(r)
	want := []string{"~change", "-delete", "+empty/one", "+link", "+odd, name:x", "+pipe", "+replaced/new", "-replaced/old", "~sub/inner"}
	if diff := cmp.Diff(want, b.paths(p)); diff != "" {
		t.Errorf("shown: %s", diff)
	}
	if !p.Ran {
		t.Error("the preview does not say that the command ran")
	}
	b.apply(r)
	after := tree(t, b.project)
	if after["change"] != "-rw-r--r-- 2\nmore\n" || after["sub/inner"] != "-rw------- 4\n" || after["link"] != "Lrwxrwxrwx /etc/passwd" || !strings.HasPrefix(after["pipe"], "prw") || after["replaced/new"] != "-rw-r--r-- 7\n" || after["replaced/old"] != "" {
		t.Errorf("after applying: %v", after)
	}
	b.rewind("call-1")
	delete(before, ".")
	rewound := tree(t, b.project)
	delete(rewound, ".")
	if diff := cmp.Diff(before, rewound); diff != "" {
		t.Errorf("a rewind does not undo it: %s", diff)
	}
}

func TestACommandThatChangesNothing(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n"})
	for _, command := range []string{"cat a", "touch a", "echo x > b; rm b", "mkdir -p __pycache__ && echo x > __pycache__/a.pyc", "cp a b && mv b a"} {
		r := b.mustRun(command)
		if r.Changed() {
			t.Errorf("%s changes %v", command, b.paths(b.shown(r)))
		}
	}
}

func TestTimeoutAndFailure(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n"})
	r := b.request
	r.Command = shellrun.Request{Command: "echo 2 > a; sleep 60", Timeout: 300 * time.Millisecond}
	result, err := preview.Run(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("a command that ran out of time: %v", err)
	}
	if err := result.Apply(t.Context(), b.session, "x"); err == nil {
		t.Error("what it left can be applied")
	}
	result.Drop()
	if failed := b.mustRun("echo 2 > a; exit 3"); failed.Task.Result().Status.Code != 3 || !failed.Changed() {
		t.Error("what a command changed before it failed is not shown")
	}
	if got := tree(t, b.project)["a"]; got != "-rw-r--r-- 1\n" {
		t.Errorf("the file is %q", got)
	}
	if left, _ := os.ReadDir(b.store); len(left) > 1 { // that of the failed one is in use
		t.Errorf("left in the store: %v", left)
	}
}

func TestHardLinksStayLinks(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n", "c": "1\n"})
	for _, names := range [][2]string{{"a", "b"}, {"c", "d"}} {
		if err := os.Link(filepath.Join(b.project, names[0]), filepath.Join(b.project, names[1])); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	b.apply(b.mustRun("echo 2 >> a; cp c e; echo 3 >> e; mv e c"))
	got := tree(t, b.project)
	if got["a"] != got["b"] || got["a"] != "-rw-r--r-- 1\n2\n" {
		t.Errorf("a write into a file of two names: %q and %q", got["a"], got["b"])
	}
	if got["c"] != "-rw-r--r-- 1\n3\n" || got["d"] != "-rw-r--r-- 1\n" {
		t.Errorf("a replaced file of two names: %q and %q", got["c"], got["d"])
	}
	settle()
	r := b.mustRun("echo x >> a; echo y >> b; cat a")
	if r.Copied == "" {
		t.Error("both names of a file were changed in an overlay, where they are two files")
	}
	b.apply(r)
	if got := tree(t, b.project); got["a"] != "-rw-r--r-- 1\n2\nx\ny\n" || got["b"] != got["a"] {
		t.Errorf("written by both names: %q and %q", got["a"], got["b"])
	}
}

func TestARenamedFolderIsPreviewedInACopy(t *testing.T) {
	b := newBench(t, map[string]string{"dir/a": "1\n", "dir/b/c": "2\n", "other": "3\n"})
	r := b.mustRun(`perl -e 'rename("dir", "moved") or die "$!\n"' && echo 4 > other`)
	if r.Copied == "" {
		t.Fatal("it did not run in a copy")
	}
	p := b.shown(r)
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "copy") }) {
		t.Errorf("it is not said that it ran in a copy: %q", p.Notes)
	}
	b.apply(r)
	got := tree(t, b.project)
	if got["moved/a"] != "-rw-r--r-- 1\n" || got["moved/b/c"] != "-rw-r--r-- 2\n" || got["dir"] != "" || got["other"] != "-rw-r--r-- 4\n" {
		t.Errorf("after applying: %v", got)
	}
	b.request.MaxCopyFiles = 2
	settle()
	if _, err := b.run(`perl -e 'rename("moved", "dir") or die "$!\n"'`); err == nil || !strings.Contains(err.Error(), "too large to copy") {
		t.Errorf("a folder that is too large: %v", err)
	}
}

func TestAMountBelowIsPreviewedInACopy(t *testing.T) {
	needtest.Need(t, needtest.Mounts)
	b := newBench(t, map[string]string{"a": "1\n", "mounted/x": "2\n"})
	if err := syscall.Mount("tmpfs", filepath.Join(b.project, "mounted"), "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(filepath.Join(b.project, "mounted"), syscall.MNT_DETACH) })
	settle()
	r := b.mustRun("echo 2 > a; echo 3 > mounted/y")
	if !strings.Contains(r.Copied, "mounted") {
		t.Errorf("it says %q", r.Copied)
	}
	b.apply(r)
	if got := tree(t, b.project); got["a"] != "-rw-r--r-- 2\n" || got["mounted/y"] != "-rw-r--r-- 3\n" {
		t.Errorf("after applying: %v", got)
	}
}

func TestWhatOthersChangeMeanwhile(t *testing.T) {
	text := "line\n"
	for i := range 8 {
		text += fmt.Sprintf("%04d\n", i)
	}
	text += "line\n"
	for _, test := range []struct {
		name, command, theirs, want string
		conflict                    bool
	}{
		{"is kept if the command left it alone", "echo x > other", "theirs\n", "theirs\n", false},
		{"is merged if it is elsewhere in the text", "sed -i '1s/line/ours/' a", text[:45] + "theirs\n", "ours\n" + text[5:45] + "theirs\n", false},
		{"is a conflict if it is the same line", "sed -i '1s/line/ours/' a", "theirs\n" + text[5:], "", true},
		{"is a conflict if the command deletes the file", "rm a", "theirs\n", "", true},
		{"is nothing if it is the same", "echo same > a", "same\n", "same\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"a": text})
			r := b.mustRun(test.command)
			shown := b.shown(r).Digest()
			b.write("a", test.theirs)
			now, err := r.Preview(t.Context())
			var conflict *preview.ConflictError
			if errors.As(err, &conflict) != test.conflict {
				t.Fatalf("shown again: %v", err)
			}
			if strings.HasPrefix(test.name, "is merged") && now.Digest() == shown {
				t.Error("a merged change has the digest of the one that was shown")
			}
			err = r.Apply(t.Context(), b.session, "call")
			if errors.As(err, &conflict) != test.conflict {
				t.Fatalf("applied: %v", err)
			}
			want := test.want
			if test.conflict {
				want = test.theirs
			}
			if got := tree(t, b.project)["a"]; got != "-rw-r--r-- "+want {
				t.Errorf("the file is %q", got)
			}
		})
	}
}

func TestWhatOthersChangeWhileTheCommandRuns(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n", "b": "1\n"})
	go func() {
		for {
			if started, _ := filepath.Glob(filepath.Join(b.store, "*", "0", "upper", "started")); len(started) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		os.WriteFile(filepath.Join(b.project, "a"), []byte("theirs\n"), 0o644)
		os.WriteFile(filepath.Join(b.project, "b"), []byte("go\n"), 0o644)
	}()
	_, err := b.run("echo > started; until grep -q go b; do :; done; echo ours > a")
	var conflict *preview.ConflictError
	if !errors.As(err, &conflict) || !slices.Equal(conflict.Paths, []string{filepath.Join(b.project, "a")}) {
		t.Errorf("got %v", err)
	}
	if got := tree(t, b.project)["a"]; got != "-rw-r--r-- theirs\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestGitIsSummedUp(t *testing.T) {
	needtest.Program(t, "git")
	b := newBench(t, map[string]string{"a.txt": "1\n"})
	git := "git -c user.name=x -c user.email=x@x "
	b.apply(b.mustRun("git init -q -b main . && git add . && " + git + "commit -qm one"))
	settle()
	if r := b.mustRun("sleep 1.1; touch a.txt; git status"); r.Changed() {
		t.Errorf("git status changes %v", b.paths(b.shown(r)))
	}
	r := b.mustRun("echo 2 > a.txt; " + git + "commit -qam two; git branch other")
	p := b.shown(r)
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "heads/main ") || !strings.Contains(p.Notes[0], " → ") || !strings.Contains(p.Notes[0], "heads/other none → ") {
		t.Errorf("notes %q", p.Notes)
	}
	if p.Files[0].Path != filepath.Join(b.project, "a.txt") || p.Files[1].Folded != "git" {
		t.Errorf("files %v", b.paths(p))
	}
	b.apply(r)
	settle() // git status refreshes the index, which was written a moment ago
	if out := b.mustRun("git log --oneline | wc -l; git fsck 2>&1; git status --short").Task.Output().Excerpt(1000, false).Text; out != "2\n" {
		t.Errorf("the repository after applying: %q", out)
	}
}

func TestOutsideAndNetwork(t *testing.T) {
	b := newBench(t, nil)
	b.request.Home = real(t, t.TempDir())
	r := b.mustRun(fmt.Sprintf("cd %s; echo x > .bashrc; mkdir -p .cache/a; echo x > .cache/a/b; curl -s http://example.com; true", b.request.Home))
	if diff := cmp.Diff([]string{filepath.Join(b.request.Home, ".bashrc")}, r.Outside); diff != "" {
		t.Error(diff)
	}
	if r.Caches != 1 || len(tree(t, b.request.Home)) != 1 {
		t.Errorf("%d files in caches; the home has %v", r.Caches, tree(t, b.request.Home))
	}
	if needtest.Program(t, "curl"); len(r.Refused) != 1 || r.Refused[0] != "example.com:80" {
		t.Errorf("refused %v", r.Refused)
	}
	if b.shell.Dir() != b.project {
		t.Errorf("the shell has moved to %s", b.shell.Dir())
	}
}

func TestTheShellFollowsAnAppliedCommand(t *testing.T) {
	b := newBench(t, map[string]string{"sub/a": "1\n"})
	r := b.mustRun("cd sub; echo 2 > a")
	if b.shell.Dir() != b.project {
		t.Errorf("before: %s", b.shell.Dir())
	}
	b.apply(r)
	if b.shell.Dir() != filepath.Join(b.project, "sub") {
		t.Errorf("after: %s", b.shell.Dir())
	}
}

// What matters comes first and is never folded; git is told as commits; what nobody reads
// comes last.
func TestTheOrderOfAQuestion(t *testing.T) {
	needtest.Program(t, "git")
	b := newBench(t, map[string]string{"a.txt": "1\n", "go.sum": "1\n"})
	bash(t, b.project, "git init -q . && git config user.name a && git config user.email a@b && git add . && git commit -qm one")
	settle()
	b.request.Protected = func(path string) string {
		if strings.HasSuffix(path, ".git/hooks/pre-commit") || strings.HasSuffix(path, ".env") {
			return "programs run it"
		}
		return ""
	}
	r := b.mustRun(`echo 2 > a.txt; echo 2 > go.sum; git commit -qam 'second commit'; printf '#!/bin/sh\n# Code generated by x. DO NOT EDIT.\nevil\n' > .git/hooks/pre-commit; echo x > .env; mkdir -p __pycache__; echo x > __pycache__/x; echo x > z.txt; echo '# @generated' | tee Makefile conftest.py z.min.js`)
	p := b.shown(r)
	var order []string
	for _, f := range p.Files {
		if f.Folded != "git" {
			order = append(order, strings.TrimPrefix(f.Path, b.project+"/")+" "+f.Folded)
		}
	}
	if diff := cmp.Diff([]string{".env ", ".git/hooks/pre-commit ", "Makefile ", "a.txt ", "conftest.py ", "z.min.js ", "z.txt ", "go.sum lock file"}, order); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{`"second commit"`, "heads/", " → ", "the index", "1 file in caches"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not have %q: %s", want, notes)
		}
	}
}
