package checkpoint_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// stored returns what the store holds of the project beside the journal: how many files,
// how many bytes on the disk, and all of it.
func (b *bench) stored() (files int, size int64, content []byte) {
	b.t.Helper()
	err := filepath.WalkDir(filepath.Join(filepath.Dir(b.session.Path()), "haft-blobs"), func(path string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		size += (int64(len(raw)) + 4095) &^ 4095
		content = append(content, raw...)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return files, size, content
}

const (
	identity = "git config user.email a@b; git config user.name n; "
	commit   = identity + "git add -A; git commit -qm one; touch -d '1 minute ago' src/a.go src/deep/b bin/run; git update-index -q --refresh; sleep 0.01; touch .git/index; "
)

// needsStat skips where the file system's view of a file is not compared with git's, and
// where the commands are not GNU's.
func needsStat(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("tracked files are told by their times on Linux only")
	}
}

// TestTrackedFilesAreNotCopied is about files that are as git has them: nothing is
// written for them until they change, and then they are put back all the same.
func TestTrackedFilesAreNotCopied(t *testing.T) {
	needsStat(t)
	for name, prepare := range map[string]string{
		"loose objects":    commit,
		"packed objects":   commit + "git gc -q --prune=now",
		"index version 4":  commit + "git update-index --index-version 4",
		"with attributes":  "printf '*.go text eol=lf\\n*.x ident\\n' > .gitattributes; " + commit,
		"split line ends":  "git config core.autocrlf false; " + commit,
		"an older index":   commit + "git update-index --index-version 2",
		"committed twice":  commit + "echo more >> src/a.go; git commit -qam two; touch .git/index",
		"names with bytes": "printf x > $'src/caf\\xe9'; " + commit,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.outside(strings.ReplaceAll(project, "rm -rf .git", "") + prepare)
			b.say("go")
			want := b.tree()
			b.bash("true")
			_, _, content := b.stored()
			if bytes.Contains(content, []byte("package a")) || bytes.Contains(content, []byte("#!/bin/sh")) {
				t.Errorf("tracked files were copied: %q", content)
			}
			b.bash("sed -i s/a/b/ src/a.go; rm -r bin; mv src/deep src/other; git commit -qam changed; git checkout -q --detach HEAD~0")
			b.rewind("", false)
			b.same(want)
		})
	}
}

// TestFilesThatGitConvertsAreCopied is about contents that git has only in another form.
func TestFilesThatGitConvertsAreCopied(t *testing.T) {
	needsStat(t)
	b := newBench(t, nil)
	b.outside("git init -q .; printf '*.txt text eol=crlf\\n' > .gitattributes; printf 'one\\r\\ntwo\\r\\n' > a.txt; " +
		identity + "git add -A 2> /dev/null; git commit -qm one; touch -d '1 minute ago' a.txt; git status > /dev/null; git update-index -q --refresh; sleep 0.01; touch .git/index")
	b.say("go")
	want := b.tree()
	b.bash("echo changed > a.txt")
	b.rewind("", false)
	b.same(want)
}

func TestALinkedWorkTreeIsKnown(t *testing.T) {
	needsStat(t)
	b := newBench(t, nil)
	elsewhere := filepath.Join(t.TempDir(), "main")
	b.outside("git init -q " + elsewhere + "; cd " + elsewhere + "; " + identity + "echo 'a tracked file' > f; git add f; git commit -qm one; git worktree add -q -b other " + b.root + "; cd " + b.root +
		"; touch -d '1 minute ago' f; git update-index -q --refresh; sleep 0.01; touch " + elsewhere + "/.git/worktrees/*/index")
	b.say("go")
	want := b.tree()
	b.bash("true")
	if n, _, content := b.stored(); n != 0 {
		t.Errorf("%d files were copied: %q", n, content)
	}
	b.bash("rm f")
	b.rewind("", false)
	b.same(want)
}

// TestACommandThatWritesTheRepositoryIsCovered is about objects that the command itself
// deletes: they are copied if that is known, and said to be gone if not.
func TestACommandThatWritesTheRepositoryIsCovered(t *testing.T) {
	needsStat(t)
	run := func(t *testing.T, writes ...string) *bench {
		b := newBench(t, &checkpoint.Options{Writes: func(*tool.Call) []string { return writes }})
		b.outside(project + commit)
		for i, w := range writes {
			writes[i] = filepath.Join(b.root, w)
		}
		b.say("go")
		return b
	}
	const command = "rm -rf src .git"
	t.Run("known", func(t *testing.T) {
		b := run(t, ".git", "src")
		want := b.tree()
		b.bash(command)
		b.rewind("", false)
		b.same(want)
	})
	t.Run("not known", func(t *testing.T) {
		b := run(t)
		b.bash(command)
		if p := b.plan(""); !strings.Contains(p.Uncovered, "cannot be restored: its git objects are gone") {
			t.Errorf("uncovered %q", p.Uncovered)
		}
	})
}

// TestALargeTreeIsNotCopied is about a folder of more than is kept: the small files are
// covered, what is stored stays below the bound however many calls there are, and the
// rest is told once.
func TestALargeTreeIsNotCopied(t *testing.T) {
	var told []string
	b := newBench(t, &checkpoint.Options{MaxBytes: 1 << 20, Tell: func(text string) { told = append(told, text) }})
	for i := range 40 {
		raw := bytes.Repeat([]byte(fmt.Sprintf("%07d\n", i)), 16<<10) // 128 KB
		if err := os.WriteFile(filepath.Join(b.root, fmt.Sprintf("data%d", i)), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sparse, err := os.Create(filepath.Join(b.root, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := sparse.Truncate(2500 << 20); err != nil {
		t.Skip("no sparse files here")
	}
	sparse.Close()
	b.outside("echo small > small")
	b.say("go")
	start := time.Now()
	for range 5 {
		b.bash("echo 1 > out.txt; echo changed >> small")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("five calls took %v", took)
	}
	if _, size, _ := b.stored(); size > 2<<20 {
		t.Errorf("%d bytes were stored", size)
	}
	if len(told) != 1 || !strings.Contains(told[0], "not covered: haft saves at most 1 MB that is not in git") {
		t.Errorf("told %q", told)
	}
	b.rewind("", false)
	if raw, _ := os.ReadFile(filepath.Join(b.root, "small")); string(raw) != "small\n" {
		t.Errorf("small is %q", raw)
	}
}

func TestManySmallFilesTakeLittleMore(t *testing.T) {
	b := newBench(t, nil)
	count, size := 3000/needtest.Every(5), 270
	for i := range count {
		dir := filepath.Join(b.root, fmt.Sprint(i/100))
		os.MkdirAll(dir, 0o755)
		raw := strings.Repeat(fmt.Sprintf("%d,", i), size)[:size]
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(raw), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.say("go")
	want := b.tree()
	b.bash("rm -r 3; echo x >> 4/400")
	files, stored, _ := b.stored()
	if stored > int64(2*count*size) || files > 10 {
		t.Errorf("%d bytes became %d in %d files", count*size, stored, files)
	}
	b.rewind("", false)
	b.same(want)
}

// TestTooManyFilesAreListedOnce is about a tree that is given up: each further call
// would cost as much as the first.
func TestTooManyFilesAreListedOnce(t *testing.T) {
	var told []string
	b := newBench(t, &checkpoint.Options{MaxFiles: 3, Tell: func(text string) { told = append(told, text) }})
	b.outside("touch 1 2 3 4 5 6 7 8")
	b.say("go")
	b.bash("true")
	b.outside("rm 1 2 3 4 5 6 7") // a look would now find few
	b.bash("rm 8")
	if p := b.plan(""); len(p.Steps) != 0 || !strings.Contains(p.Uncovered, "there are more than 3 files") {
		t.Errorf("plan %+v", p)
	}
	if len(told) != 1 {
		t.Errorf("told %q", told)
	}
}

func TestTheHomeFolderIsNotListed(t *testing.T) {
	for _, below := range []string{"", "user/name"} {
		t.Run("home is the folder or "+below+" in it", func(t *testing.T) {
			var told []string
			opts := &checkpoint.Options{Tell: func(text string) { told = append(told, text) }}
			b := newBench(t, nil)
			opts.Home = filepath.Join(b.root, below)
			opts.Writes = func(*tool.Call) []string {
				return []string{filepath.Join(b.root, "named"), filepath.Join(opts.Home, ".ssh/id_ed25519")}
			}
			b.keeper = checkpoint.New(b.root, b.session, opts)
			b.outside("mkdir -p " + opts.Home + "/.ssh; echo 'the key' > " + opts.Home + "/.ssh/id_ed25519; echo other > other; echo named > named")
			b.say("go")
			b.bash("echo changed | tee named other > /dev/null")
			if _, _, content := b.stored(); string(content) != "named\n" {
				t.Errorf("stored %q", content)
			}
			if len(told) != 1 || !strings.Contains(told[0], "this is your home folder") {
				t.Errorf("told %q", told)
			}
			b.rewind("", false)
			if raw, _ := os.ReadFile(filepath.Join(b.root, "named")); string(raw) != "named\n" {
				t.Errorf("named is %q", raw)
			}
		})
	}
}

// TestSecretsAreNeverCopied tries every way in which contents come into the store.
func TestSecretsAreNeverCopied(t *testing.T) {
	b := newBench(t, &checkpoint.Options{FileTools: []string{"Write"}, Writes: func(*tool.Call) []string { return nil }})
	b.outside("git init -q .; " + identity + "echo TOKEN=hunter2 | tee .env prod.env server.key > /dev/null; echo plain > plain; git add -f .env; git commit -qm one; sleep 0.01; touch .git/index")
	b.say("go")
	b.bash("echo more | tee -a .env prod.env server.key plain > /dev/null")
	env := filepath.Join(b.root, ".env")
	raw, err := os.ReadFile(env)
	if err != nil {
		t.Fatal(err)
	}
	b.record(sched.Record{Step: sched.Dispatched, Call: &tool.Call{ID: "w", UseID: "w", Tool: "Write"}})
	if err := b.keeper.OnChange(t.Context(), workspace.Change{Path: env, Before: blob.Digest(raw), After: blob.Digest(nil), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	b.end("w")
	b.record(sched.Record{Step: sched.Dispatched, Call: &tool.Call{ID: "s", UseID: "s", Tool: "Stamp"}, Paths: tool.Paths{Writes: []string{env}}})
	b.outside("echo named >> .env")
	b.end("s")
	_, _, content := b.stored()
	if bytes.Contains(content, []byte("hunter2")) || !bytes.Contains(content, []byte("plain")) {
		t.Errorf("stored %q", content)
	}
	p := b.plan("")
	if len(p.Steps) != 1 || filepath.Base(p.Steps[0].Path) != "plain" || !strings.Contains(p.Uncovered, "secrets are never copied") {
		t.Errorf("plan %+v", p)
	}
}

// TestWhatIsCollectedIsNotNeeded prunes with a session that stays: it is told what
// would go, that goes, and the session can still be rewound.
func TestWhatIsCollectedIsNotNeeded(t *testing.T) {
	b := newBench(t, nil)
	for i := range 100 {
		path := filepath.Join(b.root, fmt.Sprint(i))
		if err := os.WriteFile(path, bytes.Repeat([]byte{byte(i)}, 1000), 0o644); err != nil {
			t.Fatal(err)
		}
		if i == 80 {
			time.Sleep(60 * time.Millisecond) // those before are then older than the instant of a look
		}
		if soon := time.Now().Add(time.Hour); i > 80 { // each look reads it again, and must not keep it again
			if err := os.Chtimes(path, soon, soon); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.say("go")
	want := b.tree()
	b.bash("rm 7; echo x > 8")
	b.session.Close()
	then := time.Now().Add(-48 * time.Hour)
	filepath.WalkDir(filepath.Dir(b.session.Path()), func(path string, _ fs.DirEntry, _ error) error { return os.Chtimes(path, then, then) })
	_, before, _ := b.stored()
	would, err := b.store.Prune(t.Context(), &session.PruneOptions{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, now, _ := b.stored(); now != before || would.Blobs != 98 {
		t.Errorf("a dry run left %d of %d bytes and would delete %d contents", now, before, would.Blobs)
	}
	did, err := b.store.Prune(t.Context(), nil)
	if err != nil || did.Blobs != would.Blobs || did.Bytes != would.Bytes {
		t.Fatalf("pruned %+v instead of %+v, error %v", did, would, err)
	}
	if _, now, _ := b.stored(); now >= before/4 {
		t.Errorf("%d of %d bytes are left", now, before)
	}
	b.reopen()
	b.rewind("", false)
	b.same(want)
}
