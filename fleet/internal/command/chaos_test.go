//go:build linux

package command_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestChaos kills workers, stops them beyond their lease and wakes them, and kills the server,
// while runs are led. Every run ends, nothing that was written is lost, doubled or out of
// order, and no command runs twice. HAFT_NIGHTLY=1 does it for twenty minutes.
func TestChaos(t *testing.T) {
	sessions, turns, most := 80, 3, 4*time.Minute
	if os.Getenv("HAFT_NIGHTLY") != "" {
		sessions, turns, most = 2000, 6, 25*time.Minute
	}
	f := newFleet(t)
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	ids, prompts := make([]string, sessions), make([][]string, sessions)
	for i := range sessions {
		ids[i], prompts[i] = f.submit(turns)
	}
	var left atomic.Int32
	left.Store(int32(sessions))
	var waiting sync.WaitGroup
	for i := range sessions {
		waiting.Go(func() {
			defer left.Add(-1)
			for _, p := range prompts[i] {
				if _, err := f.runs.Await(ctx, ids[i], p); err != nil {
					t.Errorf("run %s: %v", ids[i], err)
					return
				}
			}
		})
	}
	c := &chaos{fleet: f}
	c.cause(ctx, func() bool { return left.Load() == 0 })
	waiting.Wait()
	var sum tally
	told := map[string]string{}
	for i, id := range ids {
		f.check(id, prompts[i], &sum, told)
	}
	f.checkEffects(&sum, told)
	t.Logf("%d runs of %d turns; killed %d workers and %d servers, woke %d zombies; %d calls, %d of them unknown, %d effects",
		sessions, turns, c.killed, c.servers, c.zombies, sum.calls, sum.unknown, sum.effects)
	if c.killed == 0 || c.zombies == 0 || c.servers == 0 {
		t.Error("too little went wrong for this to show anything")
	}
}

// chaos is what goes wrong.
type chaos struct {
	*fleet
	workers                  []*exec.Cmd
	killed, servers, zombies int
}

// cause lets things go wrong until done. Each kind comes at least once.
func (c *chaos) cause(ctx context.Context, done func() bool) {
	for range 3 {
		c.workers = append(c.workers, c.startWorker())
	}
	defer func() {
		for _, w := range c.workers {
			kill(w)
		}
	}()
	for step := 0; ctx.Err() == nil && (!done() || step < 4); step++ {
		time.Sleep(400*time.Millisecond + rand.N(600*time.Millisecond))
		i := rand.IntN(len(c.workers))
		switch step % 4 {
		case 0, 2:
			kill(c.workers[i])
			c.workers[i] = c.startWorker()
			c.killed++
		case 1:
			c.zombie(c.workers[i])
		case 3:
			kill(c.server)
			c.startServer()
			c.servers++
		}
	}
}

// zombie stops a worker for longer than its lease.
func (c *chaos) zombie(w *exec.Cmd) {
	if err := w.Process.Signal(syscall.SIGSTOP); err != nil {
		return
	}
	time.Sleep(4 * time.Second)
	_ = w.Process.Signal(syscall.SIGCONT) // it may have been killed
	c.zombies++
}
