//go:build linux

package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/session"
)

// TestAFullDisk fills the disk of the server twice while journals are written: first as other
// programs do, so that the server refuses with a reason what it has no room for; then to the
// last byte at once, so that the disk itself refuses. When there is space again everything
// continues by itself, a turn that was under way included, and nothing that was acknowledged
// is lost.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	store := filepath.Join(f.dir, "store")
	mountImage(t, filepath.Join(f.dir, "disk"), store, 128<<20)
	asked, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.setOverride(func(*script.Request) (script.Turn, bool) {
		once.Do(func() {
			close(asked)
			<-proceed
		})
		return script.Turn{}, false
	})
	f.startServer()
	f.connect()
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(1)
	<-asked
	writers := f.startWriters(t)
	waitFor(t, "entries", func() bool { return writers.count() > 100 })

	ballast := filepath.Join(store, "ballast")
	fill(t, ballast, 4<<20)
	waitFor(t, "a refusal", func() bool {
		attempt, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, _, err := f.runs.Submit(attempt, &runs.Submission{Dir: f.dir, Prompt: runs.Prompt{Text: "TURN"}})
		return errors.Is(err, engine.ErrNoRoom)
	})
	refused := f.start("submit", "--join", f.url, "--key", f.key("operator"), "TURN")
	if err := refused.Wait(); err == nil {
		t.Error("a prompt was taken without room for it")
	}
	if raw, err := os.ReadFile(f.output.Name()); err != nil || !strings.Contains(string(raw), "haft-fleet: could not submit the prompt: the server's disk is full; free some space there") {
		t.Errorf("submit says %q, %v", raw, err)
	}
	writers.check(t)
	close(proceed)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	was := writers.count()
	waitFor(t, "entries when there is space", func() bool { return writers.count() > was+100 })
	f.mustEnd(t, id, prompts)

	fill(t, ballast, 0)
	writers.stall(t)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	was = writers.count()
	waitFor(t, "entries when there is space again", func() bool { return writers.count() > was+100 })
	writers.end()
	f.servers[0].restart()
	writers.check(t)
	id, prompts = f.submit(1)
	f.mustEnd(t, id, prompts)
}

// fill takes the space of a disk, all but some of it.
func fill(t *testing.T, path string, but int64) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &disk); err != nil {
		t.Fatal(err)
	}
	// Root may use what is kept back for it, so all that is free counts. What is written in
	// the meantime may leave a little less.
	for free := int64(disk.Bfree)*disk.Bsize - but; free > 0; free -= 64 << 10 {
		if err := syscall.Fallocate(int(file.Fd()), 0, 0, free); !errors.Is(err, syscall.ENOSPC) {
			if err != nil {
				t.Skipf("cannot fill the disk: %v", err)
			}
			return
		}
	}
}

// Writers append to journals, as fast as they can, and know what was acknowledged.
type writers struct {
	logs *journal.Logs
	stop context.CancelFunc
	all  sync.WaitGroup

	mu      sync.Mutex
	wrote   map[string][]byte
	entries int
}

func (f *fleet) startWriters(t *testing.T) *writers {
	t.Helper()
	w := &writers{logs: journal.New(f.conn, "default", nil), wrote: map[string][]byte{}}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	t.Cleanup(w.end)
	text := strings.Repeat("x", 2000)
	for range 8 {
		id := session.NewUUID()
		log, pos, err := w.logs.Open(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		w.all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				line := fmt.Appendf(nil, "{\"entry\":%d,\"text\":%q}\n", n, text)
				next, err := log.Append(ctx, pos, line)
				if err != nil {
					t.Errorf("entry %d: %v", n, err) // there is space again long before it gives up
					return
				}
				pos = next
				w.mu.Lock()
				w.wrote[id] = append(w.wrote[id], line...)
				w.entries++
				w.mu.Unlock()
				_ = engine.Pause(ctx, 5*time.Millisecond) // or the disk is full of entries
			}
		})
	}
	return w
}

func (w *writers) end() {
	w.stop()
	w.all.Wait()
}

func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entries
}

// stall waits until nothing is acknowledged any more.
func (w *writers) stall(t *testing.T) {
	t.Helper()
	last, since := -1, time.Now()
	waitFor(t, "the disk to be full", func() bool {
		if n := w.count(); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > time.Second
	})
}

// check reads what was acknowledged.
func (w *writers) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	want := map[string][]byte{}
	for id, text := range w.wrote {
		want[id] = bytes.Clone(text)
	}
	w.mu.Unlock()
	for id, text := range want {
		got, err := w.logs.Text(t.Context(), id, "")
		if err != nil || !bytes.HasPrefix(got, text) {
			t.Errorf("%d of %d acknowledged entries are there; %v", bytes.Count(got, []byte("\n")), bytes.Count(text, []byte("\n")), err)
		}
	}
}
