package checkpoint_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A bench is a tree, a session about it and its keeper.
type bench struct {
	t       testing.TB
	root    string
	store   *session.Store
	session *session.Session
	keeper  *checkpoint.Keeper
	calls   int
}

func newBench(t testing.TB, opts *checkpoint.Options) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: root, store: session.Open(t.TempDir())}
	b.session, err = b.store.Create(t.Context(), &session.CreateOptions{Cwd: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.session.Close() })
	b.keeper = checkpoint.New(root, b.session, opts)
	return b
}

// bash runs a command in the tree as a call, and returns the call's id.
func (b *bench) bash(command string) string {
	b.t.Helper()
	id := b.begin()
	b.outside(command)
	b.end(id)
	return id
}

func (b *bench) record(rec sched.Record) {
	b.t.Helper()
	if err := b.keeper.Recorder(b.session).Record(b.t.Context(), rec); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) begin() string {
	b.t.Helper()
	b.calls++
	c := &tool.Call{ID: fmt.Sprintf("call-%d", b.calls), UseID: fmt.Sprintf("use-%d", b.calls), Tool: "Bash"}
	b.record(sched.Record{Step: sched.Dispatched, Call: c})
	return c.ID
}

func (b *bench) end(id string) {
	b.t.Helper()
	b.record(sched.Record{Step: sched.Finished, Outcome: &sched.Outcome{CallID: id, UseID: "use" + id, Result: tool.Text("")}})
}

// outside runs a command that nobody notes.
func (b *bench) outside(command string) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "bash", "-ec", command)
	cmd.Dir = b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func (b *bench) say(text string) string {
	b.t.Helper()
	uuid := session.NewUUID()
	err := b.session.Append(b.t.Context(), session.Entry{UUID: uuid,
		Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}})
	if err != nil {
		b.t.Fatal(err)
	}
	return uuid
}

func (b *bench) plan(target string) *checkpoint.Plan {
	b.t.Helper()
	p, err := checkpoint.NewPlan(b.t.Context(), b.session.Path(), target, b.session.Blobs())
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) rewind(target string, force bool) (undo string) {
	b.t.Helper()
	undo, err := b.plan(target).Apply(b.t.Context(), b.session, &checkpoint.ApplyOptions{Force: force})
	if err != nil {
		b.t.Fatal(err)
	}
	return undo
}

// tree describes everything in the tree but .git: kinds, modes and contents.
func (b *bench) tree() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(b.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(raw)
			what += " " + hex.EncodeToString(sum[:])
		case info.Mode()&fs.ModeSymlink != 0:
			link, _ := os.Readlink(path)
			what += " → " + link
		}
		out[strings.TrimPrefix(path, b.root)] = what
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) same(want map[string]string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.tree()); diff != "" {
		b.t.Errorf("tree (-want +got):\n%s", diff)
	}
}

const project = `
git init -q . ; printf 'node_modules/\n*.log\n.settings\n' > .gitignore
mkdir -p src/deep/er src/empty bin node_modules/x
echo 'package a' > src/a.go; printf 'b\r\n\0binary' > src/deep/b; echo '#!/bin/sh' > bin/run; chmod 755 bin/run
ln -s a.go src/link; ln -s nowhere src/dangling; echo secret > .settings; chmod 600 .settings; echo log > x.log
echo dep > node_modules/x/i.js; echo ü > 'src/näme with space'; chmod 750 src/deep
`

func TestWhateverACommandDoesIsUndone(t *testing.T) {
	commands := map[string]string{
		"rm -rf src":                       "rm -rf src",
		"everything at once":               "rm -rf src bin .settings x.log .gitignore",
		"edits in place":                   "sed -i s/a/b/ src/a.go; echo more >> x.log; : > src/deep/b",
		"an edit that keeps size and time": "cp -p src/a.go /tmp/$$; echo 'package b' > src/a.go; touch -r /tmp/$$ src/a.go; rm /tmp/$$",
		"new files and directories":        "mkdir -p new/dir; echo x > new/dir/y; echo z > src/z; ln -s z src/zz",
		"moves":                            "mv src lib; mv bin/run run",
		"modes":                            "chmod 644 bin/run; chmod 700 src/deep; chmod 644 .settings",
		"a file becomes a directory":       "rm src/a.go; mkdir src/a.go; echo x > src/a.go/x",
		"a directory becomes a file":       "rm -rf src/deep; echo x > src/deep",
		"a file becomes a link":            "rm src/a.go; ln -s /etc/passwd src/a.go",
		"links":                            "rm src/link; ln -s b src/link; ln -sf x src/dangling",
		"the rules change with the files":  "echo src/ >> .gitignore; rm -rf src; mkdir src; echo new > src/new",
		"nothing":                          "true",
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.outside(project)
			said := b.say("do it")
			want := b.tree()
			b.bash(command)
			changed := b.tree()
			undo := b.rewind(said, false)
			b.same(want)
			if undo == "" {
				return
			}
			b.rewind(undo, false)
			b.same(changed)
			b.rewind("", false)
			b.same(want)
		})
	}
}

// TestWhatEachRewindWouldRestore agrees with the plan of each.
func TestWhatEachRewindWouldRestore(t *testing.T) {
	b := newBench(t, nil)
	b.outside("echo 0 > a; echo 0 > b; mkdir -p lib; echo 0 > lib/c")
	var said []string
	for _, command := range []string{"echo 1 > a", "echo 1 > b; rm lib/c", "true", "chmod 600 b", "echo 0 > a; echo 2 > new"} {
		said = append(said, b.say(command))
		b.bash(command)
	}
	b.outside("echo theirs >> lib/d")
	restored, err := checkpoint.Restored(t.Context(), b.session.Path())
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range said {
		var want []string
		for _, s := range b.plan(id).Steps {
			want = append(want, s.Path)
		}
		if d := cmp.Diff(want, restored[id]); d != "" {
			t.Errorf("message %d (-plan +restored):\n%s", i, d)
		}
	}
	if n := len(restored[said[0]]); n != 3 { // a is again as it was
		t.Errorf("the first restores %q", restored[said[0]])
	}
}

func TestARewindGoesBackToAnyCall(t *testing.T) {
	b := newBench(t, nil)
	b.outside(project)
	b.say("begin")
	var trees []map[string]string
	var calls []string
	for i := range 5 {
		trees = append(trees, b.tree())
		calls = append(calls, b.bash(fmt.Sprintf("echo %d >> src/a.go; echo %d > file%d; rm -f file%d", i, i, i, i-2)))
	}
	for i := len(calls) - 1; i >= 0; i-- {
		b.rewind(calls[i], false)
		b.same(trees[i])
	}
	_, err := checkpoint.NewPlan(t.Context(), b.session.Path(), "nothing", b.session.Blobs())
	if !errors.Is(err, checkpoint.ErrNoTarget) {
		t.Errorf("an unknown target: %v", err)
	}
}

func TestThePreviewCountsLines(t *testing.T) {
	b := newBench(t, nil)
	b.outside("printf '1\\n2\\n3\\n' > a; printf 'x\\n' > gone")
	b.say("go")
	b.bash("printf '1\\ntwo\\n3\\n4\\n' > a; rm gone; echo new > new")
	p := b.plan("")
	var got []string
	for _, s := range p.Steps {
		got = append(got, fmt.Sprintf("%s %s +%d -%d", s.Action(), filepath.Base(s.Path), s.Insertions, s.Deletions))
	}
	if diff := cmp.Diff([]string{"restore a +1 -2", "create gone +1 -0", "delete new +0 -1"}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if p.Insertions != 2 || p.Deletions != 3 {
		t.Errorf("+%d -%d", p.Insertions, p.Deletions)
	}
}

func TestAPersonsChangesAreNotLostSilently(t *testing.T) {
	for name, meddle := range map[string]func(b *bench){
		"after the calls":   func(b *bench) { b.bash("echo 1 > a"); b.bash("echo 2 > other"); b.outside("echo person > a") },
		"between the calls": func(b *bench) { b.bash("echo 1 > a"); b.outside("echo person > a"); b.bash("echo 2 >> a") },
		"by deleting":       func(b *bench) { b.bash("echo 1 > a; echo keep > b"); b.outside("rm a") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.outside("echo 0 > a")
			b.say("go")
			want := b.tree()
			meddle(b)
			mixed := b.tree()
			_, err := b.plan("").Apply(t.Context(), b.session, nil)
			var conflict *checkpoint.ConflictError
			if !errors.As(err, &conflict) || !cmp.Equal(conflict.Paths, []string{filepath.Join(b.root, "a")}) {
				t.Fatalf("error %v", err)
			}
			b.same(mixed)
			undo := b.rewind("", true)
			b.same(want)
			b.rewind(undo, false)
			b.same(mixed)
		})
	}
}

func TestWhatIsNotKnownIsNotDeleted(t *testing.T) {
	b := newBench(t, nil)
	b.outside(project)
	b.say("go")
	b.bash("rm .gitignore; mkdir made; echo 1 > made/one") // node_modules is not ignored any more
	b.outside("echo 2 > made/two")
	b.bash("echo x > y")
	b.rewind("", true)
	got := b.tree()
	for _, path := range []string{"/node_modules/x/i.js", "/made/two"} {
		if got[path] == "" {
			t.Errorf("%s is gone", path)
		}
	}
	if got["/made/one"] != "" || got["/y"] != "" {
		t.Error("what the calls made is still there")
	}
}

func TestFileToolsAreCoveredWithoutALook(t *testing.T) {
	b := newBench(t, &checkpoint.Options{FileTools: []string{"Write"}})
	path := filepath.Join(b.root, "a")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	b.say("go")
	want := b.tree()
	b.record(sched.Record{Step: sched.Dispatched, Call: &tool.Call{ID: "w1", UseID: "u1", Tool: "Write"}})
	for _, c := range []workspace.Change{
		{Path: path, Before: blob.Digest([]byte("old")), After: blob.Digest([]byte("new")), Mode: 0o640},
		{Path: filepath.Join(b.root, "made"), After: blob.Digest([]byte("new"))},
	} {
		if err := b.keeper.OnChange(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.Path, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.outside("echo formatted > a") // by a hook, before the call has ended
	b.record(sched.Record{Step: sched.Finished, Outcome: &sched.Outcome{CallID: "w1", UseID: "u1", Result: tool.Text("")}})
	if _, err := os.Stat(filepath.Join(b.session.Dir(), "tree")); err == nil {
		t.Error("the tree was looked at")
	}
	b.rewind("w1", false)
	b.same(want)
}

func TestACommandThatIsDoneAsAnEditIsNotedOnce(t *testing.T) {
	b := newBench(t, nil)
	b.outside(project)
	b.say("go")
	want := b.tree()
	id := b.begin()
	for path, old := range map[string]string{"src/a.go": "package a\n", "node_modules/x/i.js": "dep\n"} {
		c := workspace.Change{Path: filepath.Join(b.root, path), Before: blob.Digest([]byte(old)), After: blob.Digest([]byte("new\n")), Mode: 0o644}
		if err := b.keeper.OnChange(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		b.outside("echo new > " + path)
	}
	b.end(id)
	b.rewind("", false)
	b.same(want)
}

// TestFilesThatACallNamesAreCovered is about files that the look at the tree leaves out:
// an ignored folder, and everything in a tree that is too large.
func TestFilesThatACallNamesAreCovered(t *testing.T) {
	for name, opts := range map[string]*checkpoint.Options{"an ignored folder": nil, "a tree that is too large": {MaxFiles: 1}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, opts)
			b.outside(project)
			b.say("go")
			want := b.tree()
			names := tool.Paths{Writes: []string{"node_modules/x/i.js", filepath.Join(b.root, "node_modules/new"), "node_modules/y/z"}}
			b.record(sched.Record{Step: sched.Dispatched, Call: &tool.Call{ID: "s1", UseID: "u1", Tool: "Stamp"}, Paths: names})
			b.outside("echo new | tee node_modules/x/i.js node_modules/new > /dev/null")
			b.record(sched.Record{Step: sched.Finished, Outcome: &sched.Outcome{CallID: "s1", UseID: "u1", Result: tool.Text("")}})
			if cmp.Diff(want, b.tree()) == "" {
				t.Fatal("nothing was changed")
			}
			b.rewind("s1", false)
			b.same(want)
		})
	}
}

func TestWhatIsNotCoveredIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		opts checkpoint.Options
		want string
	}{
		"too many files": {checkpoint.Options{MaxFiles: 3}, "there are more than 3 files"},
		"a large file":   {checkpoint.Options{MaxFileSize: 4}, "large is too large or cannot be read"},
		"too much":       {checkpoint.Options{MaxBytes: 8}, "large is not covered: haft saves at most"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, &tt.opts)
			b.outside("echo 1 > a; echo 2 > b; echo 'much more' > large; echo 3 > z")
			b.say("go")
			b.bash("echo changed > large; rm -f a")
			p := b.plan("")
			if !strings.Contains(p.Uncovered, tt.want) {
				t.Errorf("uncovered %q", p.Uncovered)
			}
			b.rewind("", false)
			if raw, _ := os.ReadFile(filepath.Join(b.root, "large")); string(raw) != "changed\n" {
				t.Errorf("large is %q", raw)
			}
		})
	}
}

// reopen resumes the session as a new process would.
func (b *bench) reopen() (calls, left []string) {
	b.t.Helper()
	b.session.Close()
	s, err := b.store.Resume(b.t.Context(), b.session.ID(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.Close() })
	b.session, b.keeper = s, checkpoint.New(b.root, s, nil)
	r, err := b.keeper.Recover(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return r.Calls, r.Left
}

func TestAForgedRewindStaysInTheProject(t *testing.T) {
	b := newBench(t, nil)
	b.say("go")
	b.bash("echo secret > file")
	outside := filepath.Join(t.TempDir(), "home", ".bashrc")
	inside := filepath.Join(b.root, "sub", "made")
	digest := blob.Digest([]byte("evil\n"))
	if err := b.session.Blobs().Put(t.Context(), digest, []byte("evil\n")); err != nil {
		t.Fatal(err)
	}
	step := func(path string) string {
		return fmt.Sprintf(`{"path":%q,"want":{"digest":%q,"mode":420},"had":{}}`, path, digest)
	}
	plan := fmt.Sprintf(`{"target":"x","steps":[%s,%s,%s]}`, step(outside), step("../relative"), step(inside))
	if err := os.WriteFile(filepath.Join(b.session.Dir(), "rewind.json"), []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	_, left := b.reopen()
	if len(left) != 2 {
		t.Errorf("left %q", left)
	}
	if _, err := os.Lstat(filepath.Dir(outside)); err == nil {
		t.Error("a file outside of the project was written")
	}
	if raw, err := os.ReadFile(inside); err != nil || string(raw) != "evil\n" {
		t.Errorf("inside: %q, error %v", raw, err)
	}
}

func TestACallThatTheProcessDiedInIsUndone(t *testing.T) {
	b := newBench(t, nil)
	b.outside(project)
	b.say("go")
	want := b.tree()
	b.bash("echo 1 > one")
	id := b.begin()
	b.outside("rm -rf src; echo 2 > two")
	if calls, _ := b.reopen(); !cmp.Equal(calls, []string{id}) {
		t.Errorf("calls %v", calls)
	}
	if calls, _ := b.reopen(); len(calls) != 0 {
		t.Errorf("calls again %v", calls)
	}
	b.rewind("", false)
	b.same(want)
}

func TestARewindThatTheProcessDiedInIsFinished(t *testing.T) {
	for stop := range 6 {
		t.Run(fmt.Sprintf("after %d steps", stop), func(t *testing.T) {
			b := newBench(t, nil)
			b.outside(project)
			b.say("go")
			want := b.tree()
			b.bash("rm -rf src; echo 1 > one; mkdir dir; echo 2 > dir/two; echo x >> .settings")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := b.plan("")
			if err := p.ApplyUntil(ctx, b.session, stop); err != nil {
				t.Fatal(err)
			}
			if _, failed := b.reopen(); len(failed) != 0 {
				t.Errorf("failed: %v", failed)
			}
			b.same(want)
		})
	}
}

func TestARewindThatFailsIsTakenBack(t *testing.T) {
	b := newBench(t, nil)
	b.outside("echo 0 > a; echo 0 > b; echo 0 > c")
	b.say("go")
	b.bash("echo 1 > a; echo 1 > b; echo 1 > c; echo 1 > d")
	p := b.plan("")
	mixed := b.tree()
	for i, s := range p.Steps {
		if filepath.Base(s.Path) == "b" {
			p.Steps[i].Want.Digest = strings.Repeat("0", 64) // a content that is gone
		}
	}
	if _, err := p.Apply(t.Context(), b.session, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v", err)
	}
	b.same(mixed)
	if _, failed := b.reopen(); len(failed) != 0 {
		t.Errorf("failed: %v", failed)
	}
	b.same(mixed)
}

// Another program swaps a folder for a link while a rewind is under way, which then fails: what it
// did there cannot be taken back. The error says so, and the next start takes it back.
func TestARewindThatCannotBeTakenBackSaysSo(t *testing.T) {
	b := newBench(t, nil)
	b.outside("mkdir d e; echo 0 > d/a; echo 0 > z; echo 0 > e/a")
	b.say("go")
	b.bash("echo 1 > d/a; echo 1 > z")
	p := b.plan("")
	mixed := b.tree()
	for i, s := range p.Steps {
		if filepath.Base(s.Path) == "z" {
			p.Steps[i].Want.Digest = strings.Repeat("0", 64) // a content that is gone
		}
	}
	opts := new(checkpoint.ApplyOptions).Telling(func(path string) {
		if filepath.Base(path) == "a" {
			b.outside("mv d away; ln -s e d")
		}
	})
	var partial *checkpoint.PartialError
	if _, err := p.Apply(t.Context(), b.session, opts); !errors.As(err, &partial) || len(partial.Paths) != 1 || !strings.HasSuffix(partial.Paths[0], "d/a") {
		t.Fatalf("error %v", err)
	}
	b.outside("grep -q 0 e/a && rm d && mv away d")
	if _, left := b.reopen(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	b.same(mixed)
}

func TestARewindDoesNotWriteThroughLinks(t *testing.T) {
	b := newBench(t, nil)
	elsewhere := t.TempDir()
	b.outside("mkdir dir; echo 0 > dir/a")
	b.say("go")
	b.bash("echo 1 > dir/a")
	b.outside("rm -rf dir; ln -s " + elsewhere + " dir")
	if _, err := b.plan("").Apply(t.Context(), b.session, &checkpoint.ApplyOptions{Force: true}); err == nil {
		t.Error("it was done")
	}
	if left, _ := os.ReadDir(elsewhere); len(left) != 0 {
		t.Errorf("it wrote %v elsewhere", left)
	}
}

func TestACallThatOnlyReadsCostsNothing(t *testing.T) {
	b := newBench(t, nil)
	b.say("go")
	b.record(sched.Record{Step: sched.Dispatched, Call: &tool.Call{ID: "r", UseID: "r", Tool: "Bash"}, Marks: tool.Marks{ReadOnly: true}})
	b.end("r")
	for _, name := range []string{"tree", "open-calls"} {
		if _, err := os.Stat(filepath.Join(b.session.Dir(), name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

func TestCheckpointsAreReadable(t *testing.T) {
	raw, err := json.Marshal(session.Checkpoint{CallID: "c", Path: "/p", Before: "d"})
	if err != nil || string(raw) != `{"callId":"c","path":"/p","before":"d"}` {
		t.Errorf("%s, %v", raw, err)
	}
}

// BenchmarkCall is a call that changes one file in a tree of 10,000.
func BenchmarkCall(b *testing.B) {
	bb := newBench(b, nil)
	bb.outside(`for d in $(seq 100); do mkdir -p d$d; for f in $(seq 100); do echo "file $d $f" > d$d/f$f; done; done`)
	bb.say("go")
	start := time.Now()
	bb.bash("echo x > d1/f1")
	first := time.Since(start)
	for b.Loop() {
		id := bb.begin()
		if err := os.WriteFile(filepath.Join(bb.root, "d1/f1"), []byte(id), 0o644); err != nil {
			b.Fatal(err)
		}
		bb.end(id)
	}
	b.ReportMetric(float64(first.Milliseconds()), "first-ms")
}
