package shellrun

import (
	"bytes"
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
)

// escapees are the ways in which a command leaves processes behind. @ is the
// mark of the test, a number that sleep takes.
var escapees = []struct{ name, script string }{
	{"a background job", `sleep @ &`},
	{"a double fork", `( ( sleep @ & ) & )`},
	{"a new session", `(setsid sleep @ &)`},
	{"nohup", `nohup sleep @ >/dev/null 2>&1 &`},
	{"disown", `sleep @ & disown`},
	{"a daemon", `perl -MPOSIX -e 'fork and exit; POSIX::setsid(); fork and exit; chdir "/"; POSIX::close($_) for 0..255; exec "sleep", q(@)'`},
	{"a cleared environment", `(env -i "$(type -P setsid)" sleep @ >/dev/null 2>&1 </dev/null &)`},
	{"ignored signals", `(trap '' TERM HUP INT QUIT; setsid bash -c 'while :; do sleep @; done' &)`},
	{"a fork storm", `for i in {1..60}; do (setsid sleep @ >/dev/null 2>&1 &); done`},
	{"a chain of forks", `(setsid perl -e '$0 = "chain @"; for (1..200000) { fork and exit } sleep 600' >/dev/null 2>&1 &)`},
	{"a respawner", `(trap '' TERM; setsid bash -c 'while :; do sleep 0.001 & sleep 0.002; done' @ &)`},
	{"stopped children", `(setsid bash -c 'kill -STOP $$; sleep @' &) ; bash -c 'kill -STOP $$; sleep @' &`},
	{"zombies", `(setsid perl -e '$0 = "zombies @"; for (1..30) { fork or exit } sleep 600' &)`},
}

// An end is a way in which a command with escapees comes to its end.
type end struct {
	name    string
	inside  func(t *testing.T, h *Host, command, ready string)
	outside syscall.Signal // what kills the harness, if it is a process of its own
}

var ends = []end{
	{name: "normal end", inside: func(t *testing.T, h *Host, command, _ string) {
		if r := run(t, h.NewShell("/"), command).Result(); r.State != Exited {
			t.Errorf("state %q", r.State)
		}
	}},
	{name: "timeout", inside: func(t *testing.T, h *Host, command, _ string) {
		task, err := h.NewShell("/").Run(t.Context(), Request{Command: command + "\nsleep 600", Timeout: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r := task.Result(); r.State != TimedOut {
			t.Errorf("state %q", r.State)
		}
	}},
	{name: "cancel", inside: func(t *testing.T, h *Host, command, ready string) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			awaitFile(ready)
			cancel()
		}()
		task, err := h.NewShell("/").Run(ctx, Request{Command: command + "\nsleep 600"})
		if err != nil {
			t.Fatal(err)
		}
		if r := task.Result(); r.State != Cancelled {
			t.Errorf("state %q", r.State)
		}
	}},
	{name: "harness SIGTERM", outside: syscall.SIGTERM},
	{name: "harness SIGKILL", outside: syscall.SIGKILL},
}

// TestNothingSurvives runs every way out against every end, with and without
// cgroups. SHELLRUN_ROUNDS sets how often, once by default.
func TestNothingSurvives(t *testing.T) {
	for _, name := range []string{"perl", "setsid", "nohup"} {
		needtest.Program(t, name)
	}
	rounds, _ := strconv.Atoi(os.Getenv("SHELLRUN_ROUNDS"))
	for round := range max(rounds, 1) {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			t.Run("all", func(t *testing.T) {
				for _, noCgroup := range []bool{false, true} {
					h := newTestHost(t, func(o *Options) { o.NoCgroup = noCgroup; o.EnvNames = []string{markerEnv} })
					for _, e := range escapees {
						for _, end := range ends {
							t.Run(fmt.Sprintf("%s, %s, nocgroup=%v", e.name, end.name, noCgroup), func(t *testing.T) {
								t.Parallel()
								end.expectNone(t, h, e.script, noCgroup)
							})
						}
					}
				}
			})
			expectNoZombies(t)
		})
	}
}

// A command that removes its tag has its host to itself: among others it can
// hide where there are no cgroups.
func TestAShedTagSavesNobody(t *testing.T) {
	needtest.Program(t, "setsid")
	for _, noCgroup := range []bool{false, true} {
		for _, end := range ends {
			t.Run(fmt.Sprintf("%s, nocgroup=%v", end.name, noCgroup), func(t *testing.T) {
				t.Parallel()
				h := newTestHost(t, func(o *Options) { o.NoCgroup = noCgroup })
				end.expectNone(t, h, `(ulimit -S -R 1000000; setsid sleep @ &)`, noCgroup)
			})
		}
	}
}

// expectNone runs a script to this end and expects nothing to be left of it.
func (e end) expectNone(t *testing.T, h *Host, script string, noCgroup bool) {
	t.Helper()
	mark := fmt.Sprintf("3600.0%012d", rand.Uint64N(1e12))
	ready := filepath.Join(t.TempDir(), "ready")
	command := "export " + markerEnv + "=" + mark + "\n" + strings.ReplaceAll(script, "@", mark) + "\n: >" + quote(ready)
	if e.inside == nil {
		killHarness(t, command+"\nsleep 600", ready, e.outside, noCgroup, mark)
		return
	}
	e.inside(t, h, command, ready)
	expectNone(t, mark, 0)
}

// killHarness runs a command in a harness of its own, kills that and expects
// nothing to be left.
func killHarness(t *testing.T, command, ready string, sig syscall.Signal, noCgroup bool, mark string) {
	t.Helper()
	scratch := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), harnessEnv+"="+command, "TMPDIR="+scratch)
	if noCgroup {
		cmd.Env = append(cmd.Env, "SHELLRUN_TEST_NOCGROUP=1")
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !awaitFile(ready) {
		t.Error("the command did not start")
	}
	_ = cmd.Process.Signal(sig)
	_ = cmd.Wait()
	expectNone(t, mark, 2*time.Second)
	settles(t, "scratch directories", 0, func() int {
		left, _ := os.ReadDir(scratch)
		return len(left)
	})
}

func awaitFile(path string) bool {
	for range 2000 {
		if _, err := os.Stat(path); err == nil {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// expectNone fails if a process with the mark in its arguments or environment
// lives after the time given.
func expectNone(t *testing.T, mark string, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		found := marked(mark)
		if len(found) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%d processes survive, such as %s", len(found), describe(found[0]))
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func describe(pid int) string {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return fmt.Sprintf("%q, stat %.60s, tag %x", cmdline, stat, tagOf(pid))
}

func marked(mark string) []int {
	var found []int
	for _, p := range allProcs() {
		if p.pid == os.Getpid() || p.zombie() {
			continue
		}
		for _, file := range []string{"cmdline", "environ"} {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, file))
			if err == nil && bytes.Contains(data, []byte(mark)) {
				found = append(found, p.pid)
				break
			}
		}
	}
	return found
}

// expectNoZombies fails if a keeper, which is a child of this process, leaves
// the dead unburied.
func expectNoZombies(t *testing.T) {
	t.Helper()
	for _, keeper := range childrenOf(os.Getpid()) {
		for _, p := range allProcs() {
			if p.ppid == keeper && p.zombie() {
				time.Sleep(50 * time.Millisecond) // it may just have died
				if again, ok := readProc(p.pid); ok && again.start == p.start {
					t.Errorf("zombie %d (%s) of keeper %d", p.pid, p.name, keeper)
				}
			}
		}
	}
}
