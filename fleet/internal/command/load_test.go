//go:build linux

package command_test

import (
	"fmt"
	"os"
	"strconv"
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

// TestLoad measures the figures of fleet/README.md: HAFT_NIGHTLY=1 takes 1,000 sessions of three
// turns, and here a few show that it can be done. A session costs the engine what it costs
// without the harness (prompts, runs, tasks, journal entries, outcomes), and then with it.
func TestLoad(t *testing.T) {
	t.Parallel()
	sessions, led := 40, 10
	if os.Getenv("HAFT_NIGHTLY") != "" {
		sessions, led = 1000, 200
	}
	f := newFleet(t)
	f.setOverride(func(*script.Request) (script.Turn, bool) {
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}, true
	})
	before, used := f.resident(t), f.processorTime(t)
	began := time.Now()
	f.each(sessions, 64, func(int) error { return f.leadByHand(t) })
	rate := float64(sessions) / time.Since(began).Seconds()
	// Other programs slow a machine down; what a session costs stays about the same.
	cost := (f.processorTime(t) - used) / time.Duration(sessions)
	busy, idle := f.resident(t), 0
	// What was needed for the work is given back after a while.
	for end := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		if idle = f.resident(t); os.Getenv("HAFT_NIGHTLY") == "" || idle <= 60<<20 || time.Now().After(end) {
			break
		}
	}
	for range 2 {
		w := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--slots", "8", "--dir", f.dir+"/sessions")
		t.Cleanup(func() { kill(w) })
	}
	began = time.Now()
	f.each(led, 16, func(int) error {
		id, prompts, err := f.begin(t.Context(), turnsOfARun)
		for _, p := range prompts {
			if err == nil {
				_, err = f.runs.Await(t.Context(), id, p)
			}
		}
		return err
	})
	harness := float64(led) / time.Since(began).Seconds()
	t.Logf("engine alone: %.0f sessions/s of three turns, %s of processor time for each; server %d MB, after %d sessions %d MB, when it rests %d MB; with the harness in two workers: %.1f sessions/s", rate, cost.Round(10*time.Microsecond), before>>20, sessions, busy>>20, idle>>20, harness)
	if os.Getenv("HAFT_NIGHTLY") == "" {
		return
	}
	if idle > 60<<20 {
		t.Errorf("%d idle sessions take %d MB", sessions, idle>>20)
	}
	if cost > 2*time.Second/300 {
		t.Errorf("a session takes %s of processor time: two cores have no room for 300 a second", cost)
	}
}

// processorTime is what the server and this process, which does the work of the workers, have
// used of the processor.
func (f *fleet) processorTime(t *testing.T) time.Duration {
	t.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + f.serverTime(t)
}

// serverTime is what the servers have used of the processor.
func (f *fleet) serverTime(t *testing.T) time.Duration {
	t.Helper()
	var ticks int64
	for _, s := range f.servers {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(raw), ") ") // the name may hold anything
		for _, field := range strings.Fields(after)[11:13] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ticks += n
		}
	}
	const perSecond = 100 // of the kernel's clock, for programs
	return time.Duration(ticks) * time.Second / perSecond
}

// TestLoadInACluster measures what three copies cost: the same sessions on three servers, and
// what the groups that agree about each stream cost while nothing happens.
func TestLoadInACluster(t *testing.T) {
	sessions, rest := 6, time.Second
	if os.Getenv("HAFT_NIGHTLY") != "" {
		sessions, rest = 300, 10*time.Second
	} else {
		t.Parallel()
	}
	f := prepareFleet(t)
	f.startCluster()
	f.connect()
	f.each(4, 4, func(int) error { return f.leadByHand(t) }) // every leader was chosen
	used, began := f.serverTime(t), time.Now()
	time.Sleep(rest) // what is measured is that nothing happens
	idle := float64(f.serverTime(t)-used) / float64(time.Since(began)) * 100
	used, began = f.processorTime(t), time.Now()
	f.each(sessions, 64, func(int) error { return f.leadByHand(t) })
	cost := (f.processorTime(t) - used) / time.Duration(sessions)
	groups, memory := 0, 0
	for s := range f.conn.JS.StreamNames(t.Context()).Name() {
		if groups++; s == "" {
			t.Error("a stream has no name")
		}
	}
	for i := range f.servers {
		memory += f.residentOf(t, i)
	}
	t.Logf("three servers, three copies, %d streams: %.0f sessions/s of three turns, %s of processor time for each; %.1f %% of a core while nothing happens, %d MB in all", groups, float64(sessions)/time.Since(began).Seconds(), cost.Round(10*time.Microsecond), idle, memory>>20)
	if groups != 3*engine.Shards+5 {
		t.Errorf("there are %d streams", groups)
	}
}

// each does something n times, some of it at once.
func (f *fleet) each(n, atOnce int, do func(int) error) {
	f.t.Helper()
	next := make(chan int)
	var doing sync.WaitGroup
	for range atOnce {
		doing.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	doing.Wait()
}

// leadByHand does what a worker does for a run of three turns, without a harness: five entries
// for each turn.
func (f *fleet) leadByHand(t *testing.T) error {
	id, prompts, err := f.begin(t.Context(), turnsOfARun)
	if err != nil {
		return err
	}
	log, pos, err := journal.New(f.conn, "default", nil).Open(t.Context(), id, "")
	if err != nil {
		return err
	}
	text := strings.Repeat("x", 700)
	for _, p := range prompts {
		for n := range 5 {
			line := fmt.Appendf(nil, `{"uuid":%q,"n":%d,"text":%q}`+"\n", session.NewUUID(), n, text)
			if pos, err = log.Append(t.Context(), pos, line); err != nil {
				return err
			}
		}
		if err := f.runs.Settle(t.Context(), id, p, &runs.Outcome{Text: "done"}); err != nil {
			return err
		}
	}
	return log.Close()
}

// resident is how much memory the server has.
func (f *fleet) resident(t *testing.T) int { return f.residentOf(t, 0) }

func (f *fleet) residentOf(t *testing.T, server int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", f.servers[server].cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(raw))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
