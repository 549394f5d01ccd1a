//go:build linux

package atomic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// The tests here kill a real process. It is this test binary, told by its environment what to write and when to die.
const childEnv = "HAFT_ATOMIC_CHILD"

var oldText, newText = strings.Repeat("the old content\n", 300), strings.Repeat("something new here\n", 400)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		os.Exit(child(spec))
	}
	os.Exit(m.Run())
}

// child writes the file at dir, over and over if loop is set, and kills itself before or after the n-th operation.
func child(spec string) int {
	f := strings.Split(spec, "|")
	dir, mode := f[0], f[1]
	at, _ := strconv.Atoi(f[2])
	p := place{filepath.Join(dir, "d"), filepath.Join(dir, "d", "f"), filepath.Join(dir, "journal")}
	die := func(n int) {
		if n == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			needtest.Hang()
		}
	}
	fsys := &faultFS{FS: disk.OS()}
	switch mode {
	case "before":
		fsys.before = func(n int, _ string) error { die(n); return nil }
	case "after":
		fsys.after = func(n int, _ string) { die(n) }
	}
	w := New(p.journal, fsys)
	for i := 0; i == 0 || mode == "loop"; i++ {
		info, err := disk.OS().Lstat(p.file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if mode == "loop" && i == 0 {
			fmt.Println("ready")
		}
		if _, err := w.Write(context.Background(), File{Path: p.file, Data: []byte([]string{newText, oldText}[i%2]), Old: &info}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func command(p place, mode string, at int) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d", childEnv, filepath.Dir(p.dir), mode, at))
	cmd.Stderr = os.Stderr
	return cmd
}

// afterDeath recovers and checks that the file is whole and nothing is left.
func afterDeath(t *testing.T, p place, linked bool, what string) {
	t.Helper()
	w := New(p.journal, nil)
	defer w.Close()
	if _, err := w.Recover(); err != nil {
		t.Fatalf("%s: recover: %v", what, err)
	}
	if got := content(t, p.file); got != oldText && got != newText {
		t.Fatalf("%s: the file is torn (%d bytes)", what, len(got))
	}
	want := []string{"f"}
	if linked {
		want = append(want, "g")
		if content(t, p.dir+"/g") != content(t, p.file) {
			t.Fatalf("%s: the hard link has another content", what)
		}
	}
	p.checkClean(t, want...)
}

// TestKillAtEveryOperation kills the writer with SIGKILL before and after each operation of a write, by rename and in place.
func TestKillAtEveryOperation(t *testing.T) {
	for _, linked := range []bool{false, true} {
		for _, mode := range []string{"before", "after"} {
			killed := 0
			for n := 0; ; n++ {
				p := newPlace(t, oldText)
				if linked {
					must(t, os.Link(p.file, p.dir+"/g"))
				}
				err := command(p, mode, n).Run()
				afterDeath(t, p, linked, fmt.Sprintf("linked %v, %s operation %d", linked, mode, n))
				if err == nil {
					break // there is no n-th operation
				}
				if killed++; killed > 100 {
					t.Fatal("the write does not end")
				}
			}
			if killed < 12 {
				t.Errorf("linked %v, %s: killed %d times only", linked, mode, killed)
			}
		}
	}
}

// TestKillAtAnyTime kills a writer that never stops at random moments. HAFT_KILL_RUNS sets how often.
func TestKillAtAnyTime(t *testing.T) {
	runs := 20
	if s := os.Getenv("HAFT_KILL_RUNS"); s != "" {
		var err error
		runs, err = strconv.Atoi(s)
		must(t, err)
	}
	for i := range runs {
		linked := i%2 == 1
		p := newPlace(t, oldText)
		if linked {
			must(t, os.Link(p.file, p.dir+"/g"))
		}
		cmd := command(p, "loop", -1)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = out.Read(make([]byte, 16)) // it has begun
		must(t, err)
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond)
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		afterDeath(t, p, linked, fmt.Sprintf("run %d", i))
	}
}

// TestADirectoryWeMayNotWriteIn runs as a user who owns the file and not its directory, and one who may only write the file.
func TestADirectoryWeMayNotWriteIn(t *testing.T) {
	needtest.Need(t, needtest.Root)
	const nobody = 65534
	for name, owner := range map[string]int{"the owner": nobody, "not the owner": 0} {
		t.Run(name, func(t *testing.T) {
			base, err := os.MkdirTemp("/tmp", "haft-atomic-*")
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(base) })
			must(t, os.Chmod(base, 0o755))
			p := placeIn(t, base, oldText)
			must(t, os.Mkdir(p.journal, 0o700))
			must(t, os.Chown(p.journal, nobody, nobody))
			must(t, os.Chown(p.file, owner, owner))
			must(t, os.Chmod(p.file, 0o666))
			binary := filepath.Join(base, "child")
			raw, err := os.ReadFile(os.Args[0])
			must(t, err)
			must(t, os.WriteFile(binary, raw, 0o755))
			cmd := command(p, "once", -1)
			cmd.Path, cmd.Dir = binary, "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			must(t, cmd.Run())
			info := p.info(t)
			if content(t, p.file) != newText || info.UID != owner || info.Mode != 0o666 {
				t.Errorf("owner %d, mode %v, %d bytes", info.UID, info.Mode, info.Size)
			}
			p.checkClean(t, "f")
		})
	}
}

// TestADeadFileSystemLosesNothing stops every operation from the n-th on, as a lost device would, and recovers afterwards.
func TestADeadFileSystemLosesNothing(t *testing.T) {
	for _, linked := range []bool{false, true} {
		for n := 0; ; n++ {
			p := newPlace(t, oldText)
			if linked {
				must(t, os.Link(p.file, p.dir+"/g"))
			}
			reached := false
			fsys := &faultFS{FS: disk.OS(), before: func(i int, _ string) error {
				if i >= n {
					reached = true
					return syscall.EIO
				}
				return nil
			}}
			w := New(p.journal, fsys)
			_, _ = w.Write(context.Background(), File{Path: p.file, Data: []byte(newText), Old: p.info(t)})
			w.Close()
			afterDeath(t, p, linked, fmt.Sprintf("linked %v, dead from operation %d", linked, n))
			if !reached {
				break
			}
		}
	}
}
