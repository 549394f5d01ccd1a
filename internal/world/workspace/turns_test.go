//go:build linux

package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// hookFS calls hook once, before the first operation of the given name.
type hookFS struct {
	disk.FS
	op   string
	hook func()
}

func (f *hookFS) at(op string) {
	if hook := f.hook; op == f.op && hook != nil {
		f.hook = nil
		hook()
	}
}

func (f *hookFS) OpenDir(path string) (disk.Dir, error) {
	d, err := f.FS.OpenDir(path)
	return hookDir{d, f}, err
}

type hookDir struct {
	disk.Dir
	f *hookFS
}

func (d hookDir) Open(name string, flag int, perm fs.FileMode) (disk.File, error) {
	f, err := d.Dir.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return hookFile{f, d.f}, nil
}

func (d hookDir) Rename(from, to string) error {
	d.f.at("rename")
	return d.Dir.Rename(from, to)
}

type hookFile struct {
	disk.File
	f *hookFS
}

func (f hookFile) Reserve(n int64) error {
	f.f.at("reserve")
	return f.File.Reserve(n)
}

// meanwhile starts an edit in the middle of another and gives it time to do harm.
func meanwhile(t *testing.T, edit func() error) (hook func(), wait func()) {
	done := make(chan error, 1)
	return func() {
			go func() { done <- edit() }()
			select {
			case err := <-done:
				done <- err
			case <-time.After(200 * time.Millisecond):
			}
		}, func() {
			if err := <-done; err != nil {
				t.Error("the edit in the middle:", err)
			}
		}
}

func TestProcessesEditingOneFileLoseNothing(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n\n\n\n\ntwo\n"})
	state := filepath.Join(filepath.Dir(b.dir), "state")
	hooked := &hookFS{FS: disk.OS(), op: "rename"}
	other, err := Open(b.dir, &Options{Home: b.dir, State: state, FS: hooked}) // as in another process: it shares only the files
	must(t, err)
	defer other.Close()
	b.read("f")
	ours := &bench{Workspace: other, t: t, dir: b.dir}
	ours.read("f")
	hook, wait := meanwhile(t, func() error { _, err := b.edit("f", "two", "2"); return err })
	hooked.hook = hook
	_, err = ours.edit("f", "one", "1")
	must(t, err)
	wait()
	if got := b.content("f"); got != "1\n\n\n\n\n2\n" {
		t.Errorf("an edit was lost: %q", got)
	}
}

func TestEditsThroughTwoHardLinksLoseNothing(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{t: t, dir: filepath.Join(base, "p")}
	must(t, os.Mkdir(b.dir, 0o755))
	b.write("f", "one\n\n\n\n\ntwo\n")
	must(t, os.Link(b.path("f"), b.path("g")))
	hooked := &hookFS{FS: disk.OS(), op: "reserve"}
	b.Workspace, err = Open(b.dir, &Options{Home: base, State: filepath.Join(base, "state"), FS: hooked})
	must(t, err)
	defer b.Close()
	b.read("f")
	b.read("g")
	hook, wait := meanwhile(t, func() error { _, err := b.edit("g", "two", "2"); return err })
	hooked.hook = hook
	_, err = b.edit("f", "one", "1")
	must(t, err)
	wait()
	if got := b.content("f"); got != "1\n\n\n\n\n2\n" {
		t.Errorf("an edit was lost: %q", got)
	}
}

func TestATurnEndsWithItsContext(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n"})
	b.read("f")
	release, err := b.turn(context.Background(), b.path("f"))
	must(t, err)
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := b.Revise(ctx, Revision{Path: b.Look(b.path("f")), Make: replacing("one", "1")}); err != nil && ctx.Err() == nil || err == nil {
		t.Errorf("got %v, want the end of the context", err)
	}
}
