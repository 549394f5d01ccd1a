package preview_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/test/needtest"
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

// A program of this machine that listens on a socket in the file system would act for a command
// before anybody has agreed to it.
func TestSocketsOfTheMachineAreOutOfReach(t *testing.T) {
	needtest.Need(t, needtest.Overlay, "python3")
	dir, err := os.MkdirTemp(".", "s") // not in a folder that is private to a box, as /tmp
	if err != nil {
		needtest.Missing(t, "the folder of the package cannot be written")
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var reached atomic.Bool
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			reached.Store(true)
			c.Close()
		}
	}()
	b := newBench(t, map[string]string{"file": "1\n"})
	r := b.mustRun("cd " + dir + ` && python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("s")'; cd -; python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind("own"); s.listen(); c=socket.socket(socket.AF_UNIX); c.connect("own"); open("file","w")'; rm own`)
	if reached.Load() {
		t.Error("it reached a server outside")
	}
	if got := b.paths(b.shown(r)); !slices.Equal(got, []string{"~file"}) {
		t.Errorf("a socket of its own does not work: %q", got)
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

// A command that does not stop writing is ended before the disk is full.
func TestWhatIsWrittenIsBoundedWhileItRuns(t *testing.T) {
	b := newBench(t, nil)
	b.request.Files, b.request.Bytes = 1000, 4<<20
	var limit *preview.LimitError
	for _, command := range []string{
		"while true; do head -c 1000000 /dev/zero >> big; done",
		"i=0; while true; do : > f$((i++)); done",
	} {
		if _, err := b.run(command); !errors.As(err, &limit) {
			t.Errorf("%s: %v", command, err)
		}
	}
	// A hole takes no space, and is not read.
	if _, err := b.run("truncate -s 10G hole"); !errors.As(err, &limit) || !strings.Contains(err.Error(), "more than 4 MB") {
		t.Errorf("a hole: %v", err)
	}
	if got := tree(t, b.project); len(got) != 1 {
		t.Errorf("the project has %d paths", len(got))
	}
}

// TestAHundredThousandFiles and ten gigabytes are for the night.
func TestAHundredThousandFiles(t *testing.T) {
	if os.Getenv("HAFT_NIGHTLY") == "" {
		t.Skip("it takes a minute and 4 GB: HAFT_NIGHTLY=1 runs it")
	}
	b := newBench(t, nil)
	r := b.mustRun(`mkdir d && cd d && seq 99999 | xargs touch`)
	if n := len(b.shown(r).Files); n != 99_999 {
		t.Errorf("%d files are shown", n)
	}
	b.apply(r)
	if names, err := os.ReadDir(filepath.Join(b.project, "d")); err != nil || len(names) != 99_999 {
		t.Errorf("%d files, %v", len(names), err)
	}
	var limit *preview.LimitError
	if _, err := b.run(`mkdir e && cd e && seq 150000 | xargs touch`); !errors.As(err, &limit) {
		t.Errorf("150,000 files: %v", err)
	}
	if _, err := b.run(`head -c 10G /dev/zero > big`); !errors.As(err, &limit) {
		t.Errorf("10 GB: %v", err)
	}
}

// What is applied is what was shown, whatever the command does elsewhere: it is not run
// again.
func TestACommandThatKnowsItsBoxHasNothingOfIt(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n"})
	r := b.mustRun("if [ $(cat /proc/sys/user/max_user_namespaces) != 0 ]; then echo evil > a; else echo harmless > a; fi; echo $$ >> a")
	shown := string(b.shown(r).Files[0].After.Text)
	b.apply(r)
	if got, _ := os.ReadFile(filepath.Join(b.project, "a")); !strings.HasPrefix(shown, "harmless") || string(got) != shown {
		t.Errorf("shown %q, applied %q", shown, got)
	}
}

// Folders that are nested too deep are reported, and their files are closed.
func TestADeepTreeIsReported(t *testing.T) {
	b := newBench(t, nil)
	var limit *preview.LimitError
	if _, err := b.run("mkdir -p $(printf 'd/%.0s' {1..500})"); !errors.As(err, &limit) || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("a deep tree: %v", err)
	}
	if got := tree(t, b.project); len(got) != 1 {
		t.Errorf("the project has %d paths", len(got))
	}
}

// Processes that fork without end are gone when the change is read.
func TestAForkBombEndsWithItsCommand(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n"})
	r := b.mustRun("f() { echo 3 > a.$BASHPID; (f &); }; for i in {1..8}; do (f &); done; for i in {1..40}; do (setsid sleep 1000 &) ; done; echo 2 > a; rm -f a.*; true")
	b.apply(r)
	after := tree(t, b.project)
	time.Sleep(50 * time.Millisecond) // in which a process that is left would write
	if diff := cmp.Diff(after, tree(t, b.project)); diff != "" {
		t.Error(diff)
	}
	if got := after["a"]; got != "-rw-r--r-- 2\n" {
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
	needtest.Need(t, needtest.Mounts)
	b := newBench(t, nil)
	small := real(t, t.TempDir())
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
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
