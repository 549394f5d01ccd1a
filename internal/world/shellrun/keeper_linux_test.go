package shellrun

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
)

// keeperOf returns the pid of a host's keeper.
func keeperOf(t *testing.T, h *Host) string {
	t.Helper()
	s := h.base.(*supervisor)
	if os.Getenv(suiteEnv) != "" {
		return boxOf(t, h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		t.Fatal("no keeper runs")
	}
	return strconv.Itoa(s.link.cmd.Process.Pid)
}

// boxOf returns the pid of the keeper of a host's box.
func boxOf(t *testing.T, h *Host) string {
	t.Helper()
	s := h.base.(*supervisor)
	s.boxes.mu.Lock()
	defer s.boxes.mu.Unlock()
	l := s.boxes.links[boxKey{}]
	if l == nil {
		t.Fatal("no box runs")
	}
	return strconv.Itoa(l.cmd.Process.Pid)
}

func awaitMarked(t *testing.T, mark string, n int) {
	t.Helper()
	for range 2000 {
		if len(marked(mark)) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d processes with the mark, want %d", len(marked(mark)), n)
}

func TestAKilledKeeperTakesItsCommandsAlongAndIsReplaced(t *testing.T) {
	needtest.Need(t, "setsid")
	h := newTestHost(t, nil)
	s := h.NewShell("/")
	mark := fmt.Sprintf("3600.0%012d", rand.Uint64N(1e12))
	task, err := s.Start(t.Context(), Request{Command: "(setsid sleep " + mark + " &); sleep " + mark})
	if err != nil {
		t.Fatal(err)
	}
	awaitMarked(t, mark, 3) // the shell has the mark in its arguments
	pid, _ := strconv.Atoi(keeperOf(t, h))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := task.Result(); !errors.Is(r.Status.Err, errKeeperDied) {
		t.Errorf("status %+v", r.Status)
	}
	expectNone(t, mark, 0)
	if got := text(run(t, s, "echo again")); got != "again\n" {
		t.Errorf("the next command wrote %q", got)
	}
}

// Without its tag a process is found in its cgroup.
func TestAShedTagDoesNotSurviveAKilledKeeper(t *testing.T) {
	needtest.Need(t, needtest.Cgroups)
	mark := fmt.Sprintf("3600.0%012d", rand.Uint64N(1e12))
	task := run(t, newTestHost(t, nil).NewShell("/"), "(ulimit -S -R 1000000; setsid sleep "+mark+" &); sleep 0.3; kill -9 $PPID; sleep 600")
	if r := task.Result(); !errors.Is(r.Status.Err, errKeeperDied) {
		t.Errorf("status %+v", r.Status)
	}
	expectNone(t, mark, time.Second) // the group was told to die
}

// A command can stop the keeper, which then neither ends nor starts anything.
func TestAStoppedKeeperDelaysNobodyForLong(t *testing.T) {
	h := newTestHost(t, nil)
	h.base.(*supervisor).patience = 3 * time.Second
	s := h.NewShell("/")
	run(t, s, "true")
	mark := fmt.Sprintf("3600.0%012d", rand.Uint64N(1e12))
	gate := filepath.Join(t.TempDir(), "gate")
	task, err := s.Start(t.Context(), Request{
		Command: "until [[ -e " + quote(gate) + " ]]; do sleep 0.01; done; kill -STOP $PPID; (setsid sleep " + mark + " &); sleep " + mark,
		Timeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil { // once the keeper has said that the command runs
		t.Fatal(err)
	}
	select {
	case <-task.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the command hangs")
	}
	if r := task.Result(); r.State != TimedOut || !errors.Is(r.Status.Err, errKeeperDied) {
		t.Errorf("result %+v", r)
	}
	expectNone(t, mark, 0)
	if got := text(run(t, s, "echo again")); got != "again\n" {
		t.Errorf("the next command wrote %q", got)
	}

	pid, _ := strconv.Atoi(keeperOf(t, h))
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	task = runWithin(t, 30*time.Second, s, Request{Command: "true"})
	if r := task.Result(); !errors.Is(r.Status.Err, errKeeperDied) {
		t.Errorf("started by a stopped keeper: %+v", r)
	}
}

func TestFiftyCommandsRunAtOnce(t *testing.T) {
	s := newTestHost(t, nil).NewShell("/")
	run(t, s, "true")
	start := time.Now()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			task, err := s.Run(t.Context(), Request{Command: fmt.Sprintf("sleep 1; echo %d", i), Timeout: time.Minute})
			if err != nil {
				t.Error(err)
			} else if got, want := text(task), fmt.Sprintf("%d\n", i); got != want {
				t.Errorf("output %q, want %q", got, want)
			}
		})
	}
	all.Wait()
	if took := time.Since(start); took > 25*time.Second { // half of one after the other
		t.Errorf("50 commands of one second took %v", took)
	}
}

// A command's end must not touch the orphans of others that run on.
func TestTheEndOfOneCommandLeavesTheOthersAlone(t *testing.T) {
	needtest.Need(t, "setsid")
	for _, noCgroup := range []bool{false, true} {
		h := newTestHost(t, func(o *Options) { o.NoCgroup = noCgroup })
		dir := t.TempDir()
		s := h.NewShell(dir)
		long, err := s.Start(t.Context(), Request{Command: "(setsid bash -c 'until [[ -e gate ]]; do sleep 0.01; done; echo orphan; : >said') & disown; " +
			"(setsid sleep 600 &); until [[ -e said ]]; do sleep 0.01; done; echo main", Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			run(t, s, "sleep 600 & (setsid sleep 600 &)")
		}
		if err := os.WriteFile(filepath.Join(dir, "gate"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := long.Result(); r.Status.Code != 0 || text(long) != "orphan\nmain\n" {
			t.Errorf("noCgroup=%v: the other command wrote %q: %+v", noCgroup, text(long), r)
		}
	}
}

func TestSurvivorsAreNamed(t *testing.T) {
	s := newTestHost(t, nil).NewShell("/")
	r := run(t, s, "sleep 600 & echo started").Result()
	if fmt.Sprint(r.Status.Ended) != "[sleep]" || r.Status.Code != 0 {
		t.Errorf("status %+v", r.Status)
	}
}

// The pipe may be held by a process that is nobody's descendant here: one that
// was given the descriptor.
func TestACallReturnsWhenAStrangerKeepsThePipe(t *testing.T) {
	dir := t.TempDir()
	s := newTestHost(t, nil).NewShell(dir)
	task, err := s.Start(t.Context(), Request{Command: "echo ready; until [[ -e gate ]]; do sleep 0.01; done; echo over"})
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", task.PID()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.WriteFile(filepath.Join(dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case <-task.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the call hangs")
	}
	if got := text(task); got != "ready\nover\n" {
		t.Errorf("output %q", got)
	}
}

// What a keeper leaves that was killed in the same instant as its harness is
// ended when the next one starts.
func TestLeftoversOfAKilledKeeperAreEndedAtTheNextStart(t *testing.T) {
	needtest.Need(t, needtest.Cgroups)
	mark := fmt.Sprintf("3600.0%012d", rand.Uint64N(1e12))
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), harnessEnv+"=(setsid sleep "+mark+" &); : >"+quote(ready)+"; sleep 600", "TMPDIR="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !awaitFile(ready) {
		t.Error("the command did not start")
	}
	var keeper int
	for _, p := range allProcs() {
		if p.ppid == cmd.Process.Pid {
			keeper = p.pid
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		_ = syscall.Kill(keeper, sig)
		_ = cmd.Process.Signal(sig)
	}
	_ = cmd.Wait()
	settles(t, "keepers that die", 0, func() int {
		if p, ok := readProc(keeper); ok && !p.zombie() {
			return 1
		}
		return 0
	})
	if len(marked(mark)) == 0 {
		t.Skip("another program on this machine has started a keeper, which has ended what was left")
	}
	run(t, newTestHost(t, nil).NewShell("/"), "true")
	expectNone(t, mark, 10*time.Second) // another one may be at it just now
}
