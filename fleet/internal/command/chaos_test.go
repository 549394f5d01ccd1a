//go:build linux

package command_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
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

// chaosRuns is how many runs there have to be at least: HAFT_CHAOS_RUNS if it is set, such as 1000.
func chaosRuns(t *testing.T) int {
	t.Helper()
	text := os.Getenv("HAFT_CHAOS_RUNS")
	if text == "" {
		return atOnce
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("HAFT_CHAOS_RUNS: %v", err)
	}
	return n
}

// TestChaos kills workers four times a second, stops them beyond their lease and wakes them, while runs are led. The
// server is killed, and stays away for longer than a lease; it is suspended; its disk fills up; and runs get a second
// task, so that two workers lead them. Every run succeeds, nothing that was written is lost, doubled or out of order, and
// no command runs twice.
func TestChaos(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	faults := []func(*chaos){(*chaos).restartServer, (*chaos).duplicateTasks, (*chaos).loseServer, (*chaos).duplicateTasks, (*chaos).suspendServer}
	if err := tryMountImage(t, filepath.Join(f.dir, "disk"), filepath.Join(f.dir, "store"), 1<<30); err != nil {
		t.Logf("the disk does not fill up: %v", err)
	} else {
		faults = append(faults, (*chaos).fillDisk)
	}
	f.startServer()
	f.connect()
	every := 3 * time.Second
	if os.Getenv("HAFT_CHAOS_RUNS") != "" {
		every = 12 * time.Second // so that they come to an end
	}
	c := &chaos{fleet: f, every: every, aside: true, disturb: func(c *chaos) { faults[c.step%len(faults)](c) }}
	c.run(chaosTime(t, 40*time.Second))
	if c.duplicates == 0 || c.outages == 0 || c.pauses == 0 || len(faults) > 5 && c.fills == 0 {
		t.Errorf("something did not happen: %d second tasks, %d outages, %d pauses, %d full disks", c.duplicates, c.outages, c.pauses, c.fills)
	}
}

func (c *chaos) restartServer() {
	c.servers[0].restart()
	c.restarts++
}

// beyondLease is longer than any worker keeps its run without a server.
const beyondLease = lease + 2*time.Second

// loseServer lets the server be away for longer than a lease: every run can be taken over when it is back.
func (c *chaos) loseServer() {
	kill(c.servers[0].cmd)
	time.Sleep(beyondLease) // it is the time that does it
	c.servers[0].start()
	c.restarts++
	c.outages++
}

// suspendServer does the same to a server that wakes up with everything that it knew.
func (c *chaos) suspendServer() {
	if c.servers[0].cmd.Process.Signal(syscall.SIGSTOP) == nil {
		time.Sleep(beyondLease) // as above
		_ = c.servers[0].cmd.Process.Signal(syscall.SIGCONT)
		c.pauses++
	}
}

// fillDisk leaves the server nothing but its reserve for a while.
func (c *chaos) fillDisk() {
	ballast := filepath.Join(c.dir, "store", "ballast")
	fill(c.t, ballast, 4<<20)
	time.Sleep(beyondLease) // as above
	if err := os.Remove(ballast); err != nil {
		c.t.Error(err)
	}
	c.fills++
}

// duplicateTasks gives runs that are led a second task, which another worker takes.
func (c *chaos) duplicateTasks() {
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	list, err := c.runs.List(ctx)
	if err != nil {
		return // the server is away
	}
	for _, run := range list {
		if run.State != runs.Running {
			continue
		}
		if _, err := c.conn.JS.Publish(ctx, fmt.Sprintf("task.%s.high.%s", run.Class, run.ID), []byte("default")); err == nil {
			c.duplicates++
		}
	}
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
	aside   bool // disturb takes a while, in which other things go wrong
	step    int

	killed, zombies, restarts, pauses, outages, duplicates, fills int
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
	least := chaosRuns(c.t)
	ctx, cancel := context.WithTimeout(c.t.Context(), d+3*time.Minute+time.Duration(least)*10*time.Second)
	defer cancel()
	began := time.Now()
	var mu sync.Mutex
	ended := make(chan struct{})
	prompts := map[string][]string{}
	finish := sync.OnceFunc(func() { close(ended) })
	var leading sync.WaitGroup
	for range atOnce {
		leading.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				enough := time.Since(began) >= d && len(prompts) >= least
				mu.Unlock()
				if enough {
					finish()
					return
				}
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
	c.cause(ended, done)
	var sum tally
	told := map[string]string{}
	for id, names := range prompts {
		c.check(id, names, &sum, told)
	}
	c.checkEffects(&sum, told)
	took := time.Since(began)
	c.t.Logf("%s: %d runs of %d turns; killed %d workers (%.1f/s) and %d servers, %d of them away for longer than a lease, paused %d servers, filled %d disks, woke %d zombies, made %d second tasks; %d calls, %d of them unknown, %d never ran, %d effects",
		took.Round(time.Second), len(prompts), turnsOfARun, c.killed, float64(c.killed)/took.Seconds(), c.restarts, c.outages, c.pauses, c.fills, c.zombies, c.duplicates, sum.calls, sum.unknown, sum.never, sum.effects)
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

// cause lets things go wrong until no more runs are begun, and returns when all have ended.
func (c *chaos) cause(ended, done <-chan struct{}) {
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
	idle := make(chan struct{}, 1) // has something while no server is disturbed
	idle <- struct{}{}
	defer func() { <-idle }()
	disturb := func() {
		c.disturb(c)
		c.step++
		idle <- struct{}{}
	}
	for {
		select {
		case <-done:
			return
		case now := <-tick.C:
			c.wake(now)
			select {
			case <-ended:
				continue
			default:
			}
			if now.Sub(stopped) > 2*time.Second {
				stopped = now
				c.stop(now)
			} else {
				c.kill(now)
			}
			if now.Sub(disturbed) < c.every {
				continue
			}
			select {
			case <-idle:
				if disturbed = now; c.aside {
					go disturb()
				} else {
					disturb()
				}
			default: // it still is
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
