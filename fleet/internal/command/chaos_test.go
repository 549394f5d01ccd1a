//go:build linux

package command_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// chaosTime is for how long runs are begun while things go wrong: HAFT_CHAOS if it is set
// (20m is the target of fleet/README.md), twenty minutes with HAFT_NIGHTLY=1, and else short: a minute
// for both tests together, which may run at the same time.
func chaosTime(t *testing.T, short time.Duration) time.Duration {
	t.Helper()
	if text := os.Getenv("HAFT_CHAOS"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("HAFT_CHAOS: %v", err)
		}
		return d
	}
	if os.Getenv("HAFT_NIGHTLY") != "" {
		return 20 * time.Minute
	}
	return short
}

// TestChaos kills workers four times a second, stops them beyond their lease and wakes them,
// and kills the server, while runs are led. Every run succeeds, nothing that was written is
// lost, doubled or out of order, and no command runs twice.
func TestChaos(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	c := &chaos{fleet: f, every: 4 * time.Second, disturb: func(c *chaos) {
		c.servers[0].restart()
		c.restarts++
	}}
	c.run(chaosTime(t, 40*time.Second))
}

// TestChaosInACluster does the same to three servers with three copies of everything. Leaders
// and followers are killed, or stopped for a while, one at a time.
func TestChaosInACluster(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	f.startCluster()
	f.connect()
	c := &chaos{fleet: f, every: 3 * time.Second, disturb: (*chaos).disturbCluster}
	c.run(chaosTime(t, 20*time.Second))
	if c.pauses == 0 {
		t.Error("no server was stopped and woken")
	}
}

// chaos is what goes wrong.
type chaos struct {
	*fleet
	workers []*process
	every   time.Duration // between two faults of servers
	disturb func(*chaos)
	step    int

	killed, zombies, restarts, pauses int
}

// A process is a worker. One that is stopped is left alone until it was awake for a while.
type process struct {
	cmd          *exec.Cmd
	wake, spared time.Time
}

const (
	atOnce       = 24 // runs that are open at the same time
	turnsOfARun  = 3
	chaosWorkers = 5
)

// run begins runs for some time, waits for all of them and looks at what they left.
func (c *chaos) run(d time.Duration) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), d+3*time.Minute)
	defer cancel()
	began := time.Now()
	var mu sync.Mutex
	prompts := map[string][]string{}
	var leading sync.WaitGroup
	for range atOnce {
		leading.Go(func() {
			for time.Since(began) < d && ctx.Err() == nil {
				id, names, err := c.begin(ctx, turnsOfARun)
				if err != nil {
					c.t.Error(err)
					return
				}
				mu.Lock()
				prompts[id] = names
				mu.Unlock()
				c.await(ctx, id, names)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		leading.Wait()
		close(done)
	}()
	c.cause(began.Add(d), done)
	var sum tally
	told := map[string]string{}
	for id, names := range prompts {
		c.check(id, names, &sum, told)
	}
	c.checkEffects(&sum, told)
	c.t.Logf("%s: %d runs of %d turns; killed %d workers (%.1f/s) and %d servers, paused %d servers, woke %d zombies; %d calls, %d of them unknown, %d never ran, %d effects",
		time.Since(began).Round(time.Second), len(prompts), turnsOfARun, c.killed, float64(c.killed)/d.Seconds(), c.restarts, c.pauses, c.zombies, sum.calls, sum.unknown, sum.never, sum.effects)
	if c.killed == 0 || c.zombies == 0 || c.restarts == 0 || len(prompts) < atOnce {
		c.t.Error("too little went wrong for this to show anything")
	}
}

// await waits for a run, which has to succeed.
func (c *chaos) await(ctx context.Context, id string, prompts []string) {
	for _, p := range prompts {
		out, err := c.runs.Await(ctx, id, p)
		if err != nil || out.IsError || out.Text != "done" {
			c.t.Errorf("run %s: outcome %+v, %v\n%s", id, out, err, c.describe(id))
			return
		}
	}
}

// cause lets things go wrong until some time, and returns when all runs have ended.
func (c *chaos) cause(until time.Time, done <-chan struct{}) {
	for range chaosWorkers {
		c.workers = append(c.workers, &process{cmd: c.startWorker()})
	}
	defer func() {
		for _, w := range c.workers {
			kill(w.cmd)
		}
	}()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	disturbed, stopped := time.Now(), time.Now()
	for {
		select {
		case <-done:
			return
		case now := <-tick.C:
			if c.wake(now); now.After(until) {
				continue
			}
			if now.Sub(stopped) > 2*time.Second {
				stopped = now
				c.stop(now)
			} else {
				c.kill(now)
			}
			if now.Sub(disturbed) > c.every {
				disturbed = now
				c.disturb(c)
				c.step++
			}
		}
	}
}

// pick returns a worker that is not spared, if there are enough.
func (c *chaos) pick(now time.Time) *process {
	var may []*process
	for _, w := range c.workers {
		if w.wake.IsZero() && now.After(w.spared) {
			may = append(may, w)
		}
	}
	if len(may) == 0 {
		return nil
	}
	return may[rand.IntN(len(may))]
}

func (c *chaos) kill(now time.Time) {
	if w := c.pick(now); w != nil {
		kill(w.cmd)
		w.cmd = c.startWorker()
		c.killed++
	}
}

// stop stops a worker for longer than its lease.
func (c *chaos) stop(now time.Time) {
	if w := c.pick(now); w != nil && w.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		w.wake = now.Add(lease + time.Second)
	}
}

// wake wakes what was stopped for long enough: workers, which then have time to do harm, and
// servers.
func (c *chaos) wake(now time.Time) {
	for _, w := range c.workers {
		if !w.wake.IsZero() && now.After(w.wake) && w.cmd.Process.Signal(syscall.SIGCONT) == nil {
			w.wake, w.spared = time.Time{}, now.Add(time.Second)
			c.zombies++
		}
	}
	for _, n := range c.servers {
		if !n.stopped.IsZero() && now.After(n.stopped) && n.cmd.Process.Signal(syscall.SIGCONT) == nil {
			n.stopped = time.Time{}
		}
	}
}

// disturbCluster stops the leader of some journals, kills a follower, stops one, and kills the
// leader, in turn. Of three servers two are needed, so a second one is left alone.
func (c *chaos) disturbCluster() {
	if slices.ContainsFunc(c.servers, func(n *node) bool { return !n.stopped.IsZero() }) {
		return
	}
	n := c.member(c.step%4 == 0 || c.step%4 == 3)
	if c.step%2 == 1 {
		n.restart()
		c.restarts++
	} else if n.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		n.stopped = time.Now().Add(2 * time.Second)
		c.pauses++
	}
}

// member returns the leader of some journals, or another server.
func (c *chaos) member(leader bool) *node {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	name := ""
	if s, err := c.conn.JS.Stream(ctx, engine.Journals(rand.Uint32())); err == nil && s.CachedInfo().Cluster != nil {
		name = s.CachedInfo().Cluster.Leader
	}
	for _, i := range rand.Perm(len(c.servers)) {
		if n := c.servers[i]; name == "" || (n.name == name) == leader {
			return n
		}
	}
	return c.servers[0]
}

// describe says how a run is that did not end.
func (c *chaos) describe(id string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), 20*time.Second)
	defer cancel()
	run, err := c.runs.Get(ctx, id)
	pending, pendingErr := c.runs.Pending(ctx, id)
	return fmt.Sprintf("%+v %v, pending %+v %v", run, err, pending, pendingErr)
}
