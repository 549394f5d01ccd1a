package preview_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/preview"
)

// A command cannot make what the kernel marks a layer with.
func TestForgedMarksMeanNothing(t *testing.T) {
	b := newBench(t, map[string]string{"dir/a": "1\n", "keep": "2\n"})
	r := b.mustRun(`perl -e 'syscall(188, "dir", "user.overlay.opaque", "y", 1, 0); syscall(188, "keep", "user.overlay.whiteout", "y", 1, 0); syscall(188, "keep", "user.overlay.origin", "x", 1, 0)'
mknod white c 0 0; mknod dir/a2 c 0 0; mknod disk b 8 0; perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("sock"))'; true`)
	p := b.shown(r)
	for _, f := range p.Files {
		if f.After == nil {
			t.Errorf("a forged mark deletes %s", f.Path)
		}
	}
	if !slices.Contains(r.LeftOut, filepath.Join(b.project, "sock")) {
		t.Errorf("a socket is not reported: %q", r.LeftOut)
	}
	b.apply(r)
	got := tree(t, b.project)
	if !strings.HasPrefix(got["dir/a"], "-rw-r--r-- 1\n") || !strings.HasPrefix(got["keep"], "-rw-r--r-- 2\n") || got["white"] != "" || got["disk"] != "" || got["sock"] != "" {
		t.Errorf("after applying: %v", got)
	}
}

// Links that a command plants lead neither the reader nor the writer elsewhere.
func TestPlantedLinksLeadNowhere(t *testing.T) {
	outside := real(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, map[string]string{"dir/secret": "mine\n", "file": "1\n"})
	r := b.mustRun(fmt.Sprintf("rm -r dir file; ln -s %s dir; ln -s %s/secret file; ln -s / root", outside, outside))
	p := b.shown(r)
	for _, f := range p.Files {
		if f.After != nil && strings.Contains(string(f.After.Text), "secret\n") {
			t.Errorf("%s shows what is outside", f.Path)
		}
	}
	b.apply(r)
	if got := tree(t, outside); len(got) != 2 || got["secret"] != "-rw------- secret\n" {
		t.Errorf("outside: %v", got)
	}
	if target, err := os.Readlink(filepath.Join(b.project, "dir")); err != nil || target != outside {
		t.Errorf("the link itself: %q, %v", target, err)
	}
}

// A link that another program puts in the way while the change waits.
func TestALinkInTheWayIsNotFollowed(t *testing.T) {
	outside := real(t, t.TempDir())
	b := newBench(t, map[string]string{"dir/a": "1\n"})
	r := b.mustRun("echo 2 > dir/a; echo 3 > dir/b")
	if err := errors.Join(os.Rename(filepath.Join(b.project, "dir"), filepath.Join(b.project, "away")), os.Symlink(outside, filepath.Join(b.project, "dir"))); err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), b.session, "call"); err == nil {
		t.Error("it was applied")
	}
	if got := tree(t, outside); len(got) != 1 {
		t.Errorf("outside: %v", got)
	}
}

func TestTooMuchIsReported(t *testing.T) {
	b := newBench(t, nil)
	before := tree(t, b.project)
	b.request.Files, b.request.Bytes = 100, 1<<20
	var limit *preview.LimitError
	if _, err := b.run("for i in {1..101}; do : > f$i; done"); !errors.As(err, &limit) || !strings.Contains(err.Error(), "more than 100 files") {
		t.Errorf("too many files: %v", err)
	}
	if _, err := b.run("head -c 2000000 /dev/zero > big"); !errors.As(err, &limit) || !strings.Contains(err.Error(), "more than 1 MB") {
		t.Errorf("too many bytes: %v", err)
	}
	if diff := cmp.Diff(before, tree(t, b.project)); diff != "" {
		t.Error(diff)
	}
}

func TestAForkBombEndsWithItsCommand(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n"})
	r := b.mustRun("for i in {1..200}; do (setsid sleep 1000 &) ; done; echo 2 > a")
	b.apply(r)
	if got := tree(t, b.project)["a"]; got != "-rw-r--r-- 2\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestNamesWithEscapesArriveAsTheyAre(t *testing.T) {
	b := newBench(t, nil)
	r := b.mustRun(`echo x > $'\x1b[2K\rharmless'; echo x > $'\xff'`)
	if diff := cmp.Diff([]string{"+\x1b[2K\rharmless", "+\xff"}, b.paths(b.shown(r))); diff != "" {
		t.Error(diff)
	}
	b.apply(r)
	if got := tree(t, b.project); got["\xff"] != "-rw-r--r-- x\n" {
		t.Errorf("after applying: %q", got)
	}
}

// TestADiskThatIsFull applies more than fits: nothing stays of it.
func TestADiskThatIsFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	b := newBench(t, nil)
	small := real(t, t.TempDir())
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting is not permitted: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(small, syscall.MNT_DETACH) })
	b.project = small
	b.request.Dirs = []string{small}
	for i := range 10 {
		b.write(fmt.Sprintf("old%d", i), strings.Repeat("x", 8000))
	}
	settle()
	if err := b.shell.Move(small); err != nil {
		t.Fatal(err)
	}
	before := tree(t, small)
	r := b.mustRun("echo changed > old0; rm old1; for i in {1..40}; do head -c 16000 /dev/zero > new$i; done; echo changed > old9")
	err := r.Apply(t.Context(), b.session, "call")
	if !errors.Is(err, syscall.ENOSPC) && (err == nil || !strings.Contains(err.Error(), "no space left")) {
		t.Errorf("applied: %v", err)
	}
	if diff := cmp.Diff(before, tree(t, small)); diff != "" {
		t.Errorf("what stays: %s", diff)
	}
}
