//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// A folder's repository does not lead git to another one, and a pipe in it does not keep git waiting.
func TestTheRepositoryLeadsNowhere(t *testing.T) {
	t.Parallel()
	private := t.TempDir()
	run(t, private, "git", "init", "-q", "-b", "main")
	write(t, private, map[string]string{"private.txt": "private"})
	run(t, private, "sh", "-c", "git add -A && git commit -q -m private")
	secret := run(t, private, "git", "rev-parse", "HEAD")
	for name, do := range map[string]string{
		"commondir":                "echo " + private + "/.git > .git/commondir",
		"refs":                     "rm -r .git/refs && ln -s " + private + "/.git/refs .git/refs",
		"refs/heads":               "rm -r .git/refs/heads && ln -s " + private + "/.git/refs/heads .git/refs/heads",
		"objects":                  "rm -r .git/objects && ln -s " + private + "/.git/objects .git/objects && echo " + secret + " > .git/refs/heads/main",
		"HEAD":                     "rm .git/HEAD && ln -s " + private + "/.git/HEAD .git/HEAD",
		"packed-refs":              "rm -f .git/packed-refs && ln -s " + private + "/.git/HEAD .git/packed-refs",
		"objects/info/alternates":  "echo " + private + "/.git/objects >> .git/objects/info/alternates && echo " + secret + " > .git/refs/heads/main",
		"packed-refs is not":       "rm -f .git/packed-refs && mkfifo .git/packed-refs",
		"config is not":            "rm .git/config && mkfifo .git/config",
		"refs/heads/pipe":          "mkfifo .git/refs/heads/pipe",
		"not the run's repository": "rm -r .git && ln -s " + private + "/.git .git",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := newRemote(t, map[string]string{"a": "a\n"})
			w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blob.Dir(t.TempDir())})
			write(t, w.Folder(), map[string]string{"mine": "1"})
			run(t, w.Folder(), "sh", "-c", "git add mine && git commit -q -m mine && "+do)
			p := store(t, w, "c1")
			if left := strings.Join(p.Left, "\n"); !strings.Contains(left, ".git: commits cannot be stored: ") || !strings.Contains(left, name) {
				t.Errorf("left out %q", p.Left)
			}
			if _, err := push(t, w, "result", ""); err != nil {
				t.Fatal(err)
			}
			if got := run(t, remote, "git", "log", "--stat", "--format=%s", "result"); strings.Contains(got, "private") || !strings.Contains(got, "mine") {
				t.Errorf("pushed\n%s", got)
			}
		})
	}
}

// What git has started ends with it, and what it waits for does not keep anybody waiting.
func TestGitEndsWithItsChildren(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blob.Dir(t.TempDir())})
	pipe := filepath.Join(w.Folder(), ".git", "packed-refs")
	os.Remove(pipe)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.objects.run(ctx, nil, "fetch", "-q", "--no-write-fetch-head", "--", w.Folder()+"/.git", "+refs/heads/*:refs/x/*")
		ended <- err
	}()
	var writer *os.File
	for end := time.Now().Add(30 * time.Second); writer == nil; { // it opens once git reads the pipe
		file, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if writer = file; err != nil && !errors.Is(err, syscall.ENXIO) || time.Now().After(end) {
			t.Fatalf("git does not read the pipe: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	defer writer.Close()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("git still runs")
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) { // nobody reads it any more
		if _, err := writer.Write([]byte("x")); errors.Is(err, syscall.EPIPE) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a child of git still reads the pipe")
		}
	}
}

// A branch that is gone is not in the way of a new one.
func TestABranchBecomesAFolder(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	run(t, remote, "git", "branch", "release")
	o := Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blob.Dir(t.TempDir())}
	open(t, o).Close()
	run(t, remote, "sh", "-c", "git branch -D release && git branch release/1 && git update-ref refs/heads/main $(git commit-tree -p main -m two main^{tree})")
	o.Run = "run-2"
	w, err := Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got := run(t, w.Folder(), "git", "log", "-1", "--format=%s"); got != "two" {
		t.Errorf("checked out %q", got)
	}
}
