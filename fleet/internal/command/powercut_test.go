//go:build linux

package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/session"
)

// TestAPowerCutLosesNothing keeps the store on a file system of its own, in an image. While
// journals are written the server is stopped and the image copied: it has what has reached
// the disk and nothing that is in memory only. A server that starts from the copy has every
// entry that was acknowledged.
func TestAPowerCutLosesNothing(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	image, store := filepath.Join(f.dir, "disk"), filepath.Join(f.dir, "store")
	mountImage(t, image, store, 128<<20)
	f.startServer()
	f.connect()
	wrote := f.writeUntilStopped(t, 2*time.Second)
	copied := filepath.Join(f.dir, "copy")
	run(t, "cp", "--sparse=always", image, copied)
	kill(f.servers[0].cmd)
	f.conn.Close()
	run(t, "umount", store)
	mountCopy(t, copied, store)
	f.servers[0].start()
	f.connect()
	logs, entries := journal.New(f.conn, "default", nil), 0
	for id, want := range wrote {
		text, err := logs.Text(t.Context(), id, "")
		if err != nil || !bytes.HasPrefix(text, want) {
			t.Errorf("%d of %d acknowledged entries are there; %v", bytes.Count(text, []byte("\n")), bytes.Count(want, []byte("\n")), err)
		}
		entries += bytes.Count(want, []byte("\n"))
	}
	if entries < 100 {
		t.Errorf("only %d entries were acknowledged", entries)
	}
	t.Logf("%d entries were acknowledged before the power cut", entries)
}

// writeUntilStopped writes journals for some time and then stops the server. It returns what
// was acknowledged.
func (f *fleet) writeUntilStopped(t *testing.T, d time.Duration) map[string][]byte {
	t.Helper()
	logs := journal.New(f.conn, "default", nil)
	ctx, stop := context.WithCancel(t.Context())
	wrote := map[string][]byte{}
	var mu sync.Mutex
	for range 8 {
		id := session.NewUUID()
		log, pos, err := logs.Open(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		go func() { // it is left waiting for the stopped server
			for n := 0; ctx.Err() == nil; n++ {
				line := fmt.Appendf(nil, "{\"entry\":%d}\n", n)
				next, err := log.Append(ctx, pos, line)
				if err != nil {
					return
				}
				pos = next
				mu.Lock()
				if ctx.Err() == nil {
					wrote[id] = append(wrote[id], line...)
				}
				mu.Unlock()
			}
		}()
	}
	time.Sleep(d) // the load; nothing depends on how much comes
	mu.Lock()
	defer mu.Unlock()
	if err := f.servers[0].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stop()
	return wrote
}

// mountImage makes a file system in a file. Only who may mount can try this.
func mountImage(t *testing.T, image, at string, size int64) {
	t.Helper()
	if err := tryMountImage(t, image, at, size); err != nil {
		t.Skip(err)
	}
}

// tryMountImage says why an image cannot be mounted here.
func tryMountImage(t *testing.T, image, at string, size int64) error {
	t.Helper()
	if os.Getuid() != 0 {
		return errors.New("mounting needs root")
	}
	for _, program := range []string{"mkfs.ext4", "mount", "umount", "cp"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", image)
	// Nothing reaches the disk by itself while the test lasts.
	if out, err := exec.Command("mount", "-o", "loop,commit=300", image, at).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot mount an image here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", at).Run() }) // it may be unmounted
	return nil
}

// mountCopy mounts what was left after the power cut.
func mountCopy(t *testing.T, image, at string) {
	t.Helper()
	run(t, "mount", "-o", "loop", image, at)
	t.Cleanup(func() { _ = exec.Command("umount", "-l", at).Run() }) // processes may still end
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}
