//go:build linux

package command_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/model/script"
)

// git runs git as a user would.
func (f *fleet) git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// remote makes a repository with one commit.
func (f *fleet) remote() string {
	f.t.Helper()
	seed, dir := filepath.Join(f.dir, "seed"), filepath.Join(f.dir, "project.git")
	f.git(f.dir, "init", "-q", "-b", "main", seed)
	for name, content := range map[string]string{"a.txt": "a\n", "dir/b.txt": "b\r\n", ".gitignore": "*.log\n"} {
		path := filepath.Join(seed, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			f.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			f.t.Fatal(err)
		}
	}
	f.git(seed, "add", "-A")
	f.git(seed, "commit", "-q", "-m", "first")
	f.git(f.dir, "clone", "-q", "--bare", seed, dir)
	return dir
}

// startHost starts a worker that stands for another machine: its folders are its own.
func (f *fleet) startHost(host string, flags ...string) *exec.Cmd {
	dir := filepath.Join(f.dir, host)
	cmd := f.start(append([]string{"worker", "--join", f.url, "--key", f.key("worker"), "--slots", "4", "--lease", lease.String(), "--host", host,
		"--dir", filepath.Join(dir, "sessions"), "--workspaces", filepath.Join(dir, "workspaces")}, flags...)...)
	f.t.Cleanup(func() { kill(cmd) })
	return cmd
}

// operate runs a command for operators and returns what it printed.
func (f *fleet) operate(args ...string) string {
	f.t.Helper()
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	return strings.TrimSpace(f.command(f.t, slices.Insert(args, at, "--join", f.url, "--key", f.key("operator"))...))
}

// calls answers each request with the next command, and then with "done".
func calls(t *testing.T, commands func(n int, q *script.Request) string) func(*script.Request) (script.Turn, bool) {
	var n atomic.Int64
	return func(q *script.Request) (script.Turn, bool) {
		command := commands(int(n.Add(1)-1), q)
		if command == "" {
			return script.Turn{Blocks: []script.Block{{Text: "done"}}}, true
		}
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Error(err)
		}
		return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: input}}}, true
	}
}

func (f *fleet) show(id string) *runs.Run {
	f.t.Helper()
	run, err := f.runs.Get(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return run
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A worker is killed in the middle of a command. Another one, on another machine, continues with
// the files as they were after the last command that ended, byte for byte; what the cut command had
// done is kept aside on the first machine, and the result is pushed.
func TestAWorkspaceMovesToAnotherHost(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	remote, half, seen := f.remote(), filepath.Join(f.dir, "half"), filepath.Join(f.dir, "seen")
	const change = `printf 'x\000\r\n\377' >bin; rm a.txt; mv dir/b.txt dir/c.txt; ln -s c.txt dir/link; chmod +x dir/c.txt; git checkout -q -b topic; ` +
		`git -c user.name=m -c user.email=m@m commit -q -a -m 'mine'; echo later >later.txt; echo ignored >x.log`
	const look = `(find . -path ./.git -prune -o -print | sort; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; git log --format=%s; git symbolic-ref HEAD) >`
	first := filepath.Join(f.dir, "first")
	var told atomic.Pointer[string]
	f.setOverride(calls(t, func(n int, q *script.Request) string {
		switch n {
		case 0:
			return change
		case 1:
			return look + first
		case 2:
			return "echo cut >later.txt; echo half >half.txt; touch " + half + "; sleep 60"
		case 3:
			last := q.LastText()
			told.Store(&last)
			return "pwd >" + seen + ".pwd; " + look + seen
		case 4:
			return "echo more >more.txt"
		}
		return ""
	}))
	a := f.startHost("host-a")
	id := f.operate("submit", "TURN", "--repo", remote, "--ref", "main", "--push", "haft/result", "--", "--permission-mode=bypassPermissions", "--model=sonnet")
	waitFor(t, "the third command", func() bool { return fileExists(half) })
	kill(a)
	f.startHost("host-b")
	waitFor(t, "the run to rest", func() bool { return f.show(id).State == runs.Idle })
	was, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := withoutLogs(string(is)), withoutLogs(string(was)); got != want || len(want) < 100 {
		t.Errorf("the second machine has\n%s\nwant\n%s", got, want)
	}
	pwd, _ := os.ReadFile(seen + ".pwd")
	if text := *told.Load(); !strings.Contains(text, "The files are as they were after the last finished call") || !strings.Contains(text, strings.TrimSpace(string(pwd))) || !strings.Contains(string(pwd), "host-b") {
		t.Errorf("in %s, the model was told %q", pwd, text)
	}
	run := new(runs.Run)
	if err := json.Unmarshal([]byte(f.operate("runs", "show", id)), run); err != nil {
		t.Fatal(err)
	}
	if w := run.Workspace; w.Stored == nil || w.Pushed == "" || w.PushError != "" || w.BaseBranch != "main" {
		t.Errorf("the run says %+v", w)
	}
	if got := f.git(remote, "ls-tree", "-r", "--name-only", "haft/result"); got != ".gitignore\nbin\ndir/c.txt\ndir/link\nlater.txt\nmore.txt" {
		t.Errorf("the branch has\n%s", got)
	}
	if got := f.git(remote, "log", "--format=%s", "haft/result"); !strings.HasSuffix(got, "mine\nfirst") {
		t.Errorf("the branch has the history\n%s", got)
	}
	// The first machine is back: what it has and nobody else is reported, not deleted.
	f.startHost("host-a")
	waitFor(t, "the folder to be put aside", func() bool { return len(f.show(id).Aside) == 1 })
	aside := f.show(id).Aside[0]
	raw, err := os.ReadFile(filepath.Join(aside.Path, "half.txt"))
	if err != nil || string(raw) != "half\n" || aside.Host != "host-a" {
		t.Errorf("%+v has %q, %v", aside, raw, err)
	}
	to := filepath.Join(f.dir, "got")
	f.operate("runs", "files", id, "--to", to)
	if got := f.git(to, "status", "--porcelain", "--branch"); got != "## topic\n?? bin\n?? dir/\n?? later.txt\n?? more.txt" {
		t.Errorf("the files are\n%s", got)
	}
	// A worker of another fleet that has the same folder would not know the run.
	fleet, err := f.conn.Fleet(t.Context())
	if err != nil || !strings.Contains(string(pwd), filepath.Join("host-b", "workspaces", "default-"+fleet)) {
		t.Errorf("the fleet %q works in %s, %v", fleet, pwd, err)
	}
	f.operate("runs", "archive", id, "--to", filepath.Join(f.dir, "archive"))
	store, err := f.conn.Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, digest := range run.Workspace.Stored.Packs {
		if _, err := store.GetInfo(t.Context(), "default/"+digest); !errors.Is(err, jetstream.ErrObjectNotFound) {
			t.Errorf("the store still has %s: %v", digest, err)
		}
	}
	var p workspace.Point
	if err := json.Unmarshal([]byte(f.operate("runs", "files", id, "--json", "--to", to+"-archived")), &p); err != nil || p.Commit != run.Workspace.Stored.Commit {
		t.Errorf("the archive has %+v, %v; want %s", p, err, run.Workspace.Stored.Commit)
	}
}

// A worker that ends between a push and noting it does not keep the next one from pushing, and what
// is archived is what the journal has, even if the run says less.
func TestAPushThatWasNotNoted(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	remote := f.remote()
	f.setOverride(calls(t, func(n int, _ *script.Request) string {
		if n%2 == 1 {
			return ""
		}
		return fmt.Sprintf("echo %d > file", n/2+1)
	}))
	f.startHost("host-a")
	id := f.operate("submit", "TURN", "--repo", remote, "--ref", "main", "--push", "haft/result", "--", "--permission-mode=bypassPermissions", "--model=sonnet")
	pushed := func(old string) (now string) {
		t.Helper()
		waitFor(t, "the push", func() bool {
			w := f.show(id).Workspace
			now = w.Pushed
			return now != "" && now != old && w.PushError == "" && len(w.Pushing) == 0
		})
		return now
	}
	first := pushed("")
	change := func(do func(*runs.Workspace)) {
		t.Helper()
		if _, err := runs.New(f.conn, engine.DefaultTenant).Update(t.Context(), id, func(r *runs.Run) error { do(r.Workspace); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	change(func(w *runs.Workspace) { w.Pushed, w.Pushing, w.Stored = "", []string{first}, nil })
	f.operate("submit", "again", "--wait", "--run", id)
	second := pushed("")
	if got := f.git(remote, "rev-parse", "haft/result"); got != second || second == first {
		t.Errorf("the branch is %s; first %s, second %s", got, first, second)
	}
	// What is about to be pushed is noted before.
	hook := filepath.Join(remote, "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.operate("submit", "again", "--wait", "--run", id)
	waitFor(t, "the push that fails", func() bool {
		w := f.show(id).Workspace
		return w.PushError != "" && len(w.Pushing) == 1 && w.Pushed == second
	})
	stored := f.show(id).Workspace.Stored
	change(func(w *runs.Workspace) { w.Stored = nil })
	sealed, freed, _ := strings.Cut(f.operate("runs", "archive", id, "--json", "--to", filepath.Join(f.dir, "archive")), "\n")
	if !strings.Contains(sealed, `"archive":"`+f.dir) || !strings.Contains(freed, `"freed_objects":`) || strings.Contains(freed, `"freed_bytes":0`) {
		t.Errorf("archived as %s, and %s", sealed, freed)
	}
	var p workspace.Point
	if err := json.Unmarshal([]byte(f.operate("runs", "files", id, "--json", "--to", filepath.Join(f.dir, "got"))), &p); err != nil || p.Commit != stored.Commit {
		t.Errorf("the archive has %+v, %v; want %s", p, err, stored.Commit)
	}
	if raw, err := os.ReadFile(filepath.Join(f.dir, "got", "file")); err != nil || string(raw) != "3\n" {
		t.Errorf("the archived file has %q, %v", raw, err)
	}
}

// A run is cancelled in the middle of a command, and archived at once: the archive has what the command
// had done, and the run stays archived.
func TestARunIsCancelledAndArchived(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	remote, half := f.remote(), filepath.Join(f.dir, "half")
	f.setOverride(calls(t, func(n int, _ *script.Request) string {
		return []string{"echo one >one.txt", "echo two >two.txt; touch " + half + "; sleep 60", ""}[min(n, 2)]
	}))
	f.startHost("host-a")
	id := f.operate("submit", "TURN", "--repo", remote, "--ref", "main", "--", "--permission-mode=bypassPermissions", "--model=sonnet")
	waitFor(t, "the second command", func() bool { return fileExists(half) })
	f.operate("runs", "cancel", id)
	f.operate("runs", "archive", id, "--to", filepath.Join(f.dir, "archive"))
	if tasked, err := f.runs.Tasked(t.Context(), id); tasked || err != nil {
		t.Errorf("a worker still has the run: %t, %v", tasked, err)
	}
	if run := f.show(id); run.State != runs.Archived {
		t.Errorf("the run is %s: %s", run.State, run.Reason)
	}
	to := filepath.Join(f.dir, "got")
	f.operate("runs", "files", id, "--to", to)
	if !fileExists(to+"/one.txt") || !fileExists(to+"/two.txt") {
		t.Error("files are lost")
	}
}

// withoutLogs leaves out what git ignores.
func withoutLogs(list string) string {
	var kept []string
	for line := range strings.Lines(list) {
		if !strings.HasSuffix(line, "./x.log\n") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// What cannot be is refused with what to do; what may pass is tried again, and the run says why it
// waits.
func TestAWorkspaceThatCannotBeMade(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	remote := f.remote()
	f.startHost("host-a", "--attempts", "1")
	submit := func(flags ...string) string {
		return f.operate(append(append([]string{"submit", "TURN", "--repo"}, flags...), "--", "--permission-mode=bypassPermissions", "--model=sonnet")...)
	}
	missing, away := submit(remote, "--ref", "none"), submit(filepath.Join(f.dir, "later.git"))
	waitFor(t, "the refused run", func() bool {
		run := f.show(missing)
		return run.State == runs.Failed && strings.Contains(run.Reason, `has no branch, tag or commit "none". Push it`)
	})
	waitFor(t, "the run that waits to say why", func() bool {
		run := f.show(away)
		return run.State == runs.Queued && strings.Contains(run.Reason, "could not fetch "+filepath.Join(f.dir, "later.git"))
	})
	// However often that is tried, it is no fault of the run.
	waitFor(t, "a second attempt", func() bool {
		run := f.show(away)
		if run.State == runs.Quarantined {
			t.Fatalf("the run was put aside: %s", run.Reason)
		}
		return run.State == runs.Queued && run.Postponed >= 2
	})
	if err := os.Rename(remote, filepath.Join(f.dir, "later.git")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the run whose repository is there now", func() bool { return f.show(away).State == runs.Idle })
}

// A run in a folder of one machine waits for that machine and says so: another one does not take it,
// although it has a folder of the same name.
func TestARunWaitsForItsHost(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	began := filepath.Join(f.dir, "began")
	f.setOverride(calls(t, func(n int, _ *script.Request) string {
		if n == 0 {
			return "touch " + began + "; sleep 60"
		}
		return ""
	}))
	a := f.startHost("host-a")
	id := f.operate("submit", "TURN", "--dir", filepath.Join(f.dir, "project"), "--", "--permission-mode=bypassPermissions", "--model=sonnet")
	waitFor(t, "the command", func() bool { return fileExists(began) })
	if run := f.show(id); run.Host != "host-a" {
		t.Errorf("the run is bound to %q", run.Host)
	}
	kill(a)
	f.startHost("host-b")
	waitFor(t, "the run to say what it waits for", func() bool {
		run := f.show(id)
		return run.State == runs.Queued && strings.Contains(run.Reason, "Waiting for a worker on the host host-a, which has the folder "+filepath.Join(f.dir, "project"))
	})
	f.startHost("host-a")
	waitFor(t, "the run to rest", func() bool { return f.show(id).State == runs.Idle })
}

// A worker that was taken for dead and wakes up still has its folder; the one that has taken over on
// the same machine has another.
func TestTwoWorkersNeverShareAFolder(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	remote, began, where := f.remote(), filepath.Join(f.dir, "began"), filepath.Join(f.dir, "where")
	f.setOverride(calls(t, func(n int, _ *script.Request) string {
		switch n {
		case 0:
			return "pwd >>" + where + "; echo kept >kept.txt"
		case 1:
			return "touch " + began + "; sleep 6; echo zombie >zombie.txt"
		case 2:
			return "pwd >>" + where + "; ls >>" + where
		}
		return ""
	}))
	zombie := f.startHost("host-a")
	id := f.operate("submit", "TURN", "--repo", remote, "--", "--permission-mode=bypassPermissions", "--model=sonnet")
	waitFor(t, "the command", func() bool { return fileExists(began) })
	if err := zombie.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	f.startHost("host-a")
	waitFor(t, "the run to rest", func() bool { return f.show(id).State == runs.Idle })
	if err := zombie.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(where)
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if err != nil || len(lines) != 5 || lines[0] == lines[1] || strings.Join(lines[2:], " ") != "a.txt dir kept.txt" {
		t.Errorf("the commands saw\n%s", raw)
	}
	if f.show(id).Workspace.Stored == nil {
		t.Error("nothing is stored")
	}
}

// Stored files that are gone are not replaced by older ones: the run is put aside with the reason.
func TestLostFilesQuarantine(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.setOverride(calls(t, func(n int, _ *script.Request) string {
		if n == 0 {
			return "echo 1 >one.txt"
		}
		return ""
	}))
	a := f.startHost("host-a")
	id := f.operate("submit", "TURN", "--repo", f.remote(), "--", "--permission-mode=bypassPermissions", "--model=sonnet")
	waitFor(t, "the run to rest", func() bool { return f.show(id).State == runs.Idle })
	kill(a)
	store, err := f.conn.Stream(t.Context(), "OBJ_"+engine.Blobs)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.show(id).Workspace.Stored.Packs) == 0 {
		t.Error("nothing is stored")
	}
	if err := store.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.startHost("host-b")
	f.operate("submit", "again", "--run", id)
	waitFor(t, "the run to be put aside", func() bool {
		run := f.show(id)
		return run.State == runs.Quarantined && strings.Contains(run.Reason, "the files that were stored after call")
	})
}
