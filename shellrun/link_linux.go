package shellrun

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A link is the connection to one keeper.
type link struct {
	conn *net.UnixConn
	cmd  *exec.Cmd
	gone chan struct{} // closed when the keeper is

	patience time.Duration // for an answer; after it the keeper is killed
	session  uint32        // in the tags of its commands

	send sync.Mutex // one frame at a time

	mu     sync.Mutex
	lastID uint32
	procs  map[uint32]*process
}

func (l *link) awaitHello() error {
	_ = l.conn.SetReadDeadline(time.Now().Add(l.patience))
	var e event
	if _, err := readFrame(l.conn, &e); err != nil || e.Op != opHello {
		return errors.New("it does not answer: main must call shellrun.Supervise before anything else")
	}
	l.session = e.Session
	return l.conn.SetReadDeadline(time.Time{})
}

func (l *link) dead() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

func (l *link) start(c Command) (Process, error) {
	p := &process{link: l, started: make(chan error, 1), done: make(chan struct{})}
	l.mu.Lock()
	l.lastID++
	p.id = l.lastID
	l.procs[p.id] = p
	l.mu.Unlock()
	null, err := os.Open(os.DevNull)
	if err == nil {
		files := c.files(null)
		if c.Hold != nil {
			files = append(files, c.Hold)
		}
		err = l.request(request{Op: opStart, ID: p.id, Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir}, files...)
		null.Close()
	}
	if err == nil {
		defer l.insist(l.patience).Stop()
		select {
		case err = <-p.started:
		case <-l.gone: // it may have started: its status says what is known
		}
	}
	if err != nil {
		l.forget(p.id)
		return nil, fmt.Errorf("start %s in %s: %w", c.Path, c.Dir, err)
	}
	return p, nil
}

func (l *link) request(r request, files ...*os.File) error {
	l.send.Lock()
	defer l.send.Unlock()
	defer l.insist(l.patience).Stop() // its death ends a write that nobody reads
	return writeFrame(l.conn, r, files...)
}

// insist kills the keeper after a time, if the timer is not stopped before: a
// keeper that was stopped (a command can do that) watches over nothing, and
// what waits for it would wait for ever.
func (l *link) insist(after time.Duration) *time.Timer {
	return time.AfterFunc(after, func() { _ = l.cmd.Process.Kill() })
}

func (l *link) forget(id uint32) *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.procs[id]
	delete(l.procs, id)
	return p
}

var errKeeperDied = errors.New("the shell supervisor was killed")

// listen hands events to their processes until the keeper ends; then it ends,
// as far as it can, what the keeper left.
func (l *link) listen() {
	for {
		var e event
		if _, err := readFrame(l.conn, &e); err != nil {
			break
		}
		l.dispatch(e)
	}
	_ = l.cmd.Wait()
	l.conn.Close()
	l.mu.Lock()
	orphaned := l.procs
	l.procs = map[uint32]*process{}
	l.mu.Unlock()
	if len(orphaned) > 0 {
		killSession(l.session)
		endCgroup(l.cmd.Process.Pid)
	}
	close(l.gone)
	for _, p := range orphaned {
		p.finish(Status{Code: -1, Err: errKeeperDied})
	}
}

func (l *link) dispatch(e event) {
	switch e.Op {
	case opStarted:
		l.mu.Lock()
		p := l.procs[e.ID]
		l.mu.Unlock()
		if p == nil {
			return
		}
		p.pid = e.PID
		if e.Err != "" {
			p.started <- errors.New(e.Err)
			return
		}
		p.started <- nil
	case opGone:
		if p := l.forget(e.ID); p != nil {
			p.finish(Status{
				Code: e.Code, Signal: e.Signal, Ended: e.Ended, Left: e.Left,
				UserTime: time.Duration(e.UserNS), SystemTime: time.Duration(e.SysNS),
			})
		}
	}
}

// close hangs up, which makes the keeper end everything, and waits for that.
func (l *link) close() error {
	_ = l.conn.CloseWrite()
	select {
	case <-l.gone:
		return nil
	case <-time.After(l.patience):
		_ = l.cmd.Process.Kill()
		<-l.gone
		return errors.New("end the shell commands: the supervisor did not finish in time")
	}
}

// A process is a command in the keeper, seen from the harness.
type process struct {
	link    *link
	id      uint32
	pid     int
	started chan error
	done    chan struct{}
	status  Status

	ending sync.Once
}

func (p *process) PID() int              { return p.pid }
func (p *process) Done() <-chan struct{} { return p.done }
func (p *process) Status() Status        { <-p.done; return p.status }

func (p *process) End(grace time.Duration) {
	p.ending.Do(func() {
		overdue := p.link.insist(max(grace, deathGrace) + killTime + p.link.patience)
		go func() {
			<-p.done
			overdue.Stop()
		}()
	})
	_ = p.link.request(request{Op: opEnd, ID: p.id, GraceMS: grace.Milliseconds()})
}

func (p *process) finish(s Status) {
	p.status = s
	close(p.done)
}
