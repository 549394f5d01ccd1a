//go:build unix

package shellrun

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// direct is the Runner without a supervisor: for systems other than Linux, and
// for programs whose main does not call Supervise. It ends the command's
// process group. What left the group with setsid, or outlives a killed harness,
// it cannot find.
type direct struct{}

func (direct) tidy(string)  {}
func (direct) Close() error { return nil }

func (direct) tier(sandbox.Network) sandbox.Tier { return sandbox.Tier{} }
func (direct) holds() bool                       { return false }

func (direct) Start(c Command) (Process, error) {
	if c.Box != nil {
		return nil, sandbox.ErrUnavailable
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	p, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: c.files(null),
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("start %s in %s: %w", c.Path, c.Dir, err)
	}
	if c.Expendable { // only Linux has the file
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.Pid), []byte(expendable), 0)
	}
	g := &group{pid: p.Pid, end: make(chan time.Duration, 1), done: make(chan struct{})}
	exited := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := p.Wait()
		exited <- state
	}()
	go g.watch(exited)
	return g, nil
}

// expendable is what the kernel adds to the memory that a command takes, in thousandths of all
// there is, when it looks for a process to end. Haft and its supervisor have 0.
const expendable = "500"

// A group is a process group that this process started.
type group struct {
	pid    int
	end    chan time.Duration
	done   chan struct{}
	status Status
}

func (g *group) PID() int              { return g.pid }
func (g *group) Done() <-chan struct{} { return g.done }
func (g *group) Status() Status        { <-g.done; return g.status }

func (g *group) End(grace time.Duration) {
	select {
	case g.end <- grace:
	default: // its end has begun
	}
}

const (
	groupLinger = 100 * time.Millisecond
	groupGrace  = 200 * time.Millisecond
	groupPause  = 5 * time.Millisecond
)

func (g *group) watch(exited <-chan *os.ProcessState) {
	defer close(g.done)
	var state *os.ProcessState
	select {
	case state = <-exited:
		if !g.emptyWithin(groupLinger) {
			g.stop(groupGrace)
		}
	case grace := <-g.end:
		g.stop(grace)
		state = <-exited
	}
	g.status = statusOf(state)
}

// stop ends the group, in two steps where there is time.
func (g *group) stop(grace time.Duration) {
	_ = syscall.Kill(-g.pid, syscall.SIGTERM)
	_ = syscall.Kill(-g.pid, syscall.SIGCONT)
	if !g.emptyWithin(grace) {
		_ = syscall.Kill(-g.pid, syscall.SIGKILL)
		g.emptyWithin(groupGrace)
	}
}

func (g *group) emptyWithin(d time.Duration) bool {
	for deadline := time.Now().Add(d); ; time.Sleep(groupPause) {
		if syscall.Kill(-g.pid, 0) != nil {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

func statusOf(state *os.ProcessState) Status {
	if state == nil {
		return Status{Code: -1}
	}
	s := Status{Code: state.ExitCode(), UserTime: state.UserTime(), SystemTime: state.SystemTime()}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		s.Signal = int(w.Signal())
		s.Code = 128 + s.Signal
	}
	return s
}
