package shellrun

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/text/rawname"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// A link is the connection to one keeper.
type link struct {
	conn *net.UnixConn
	cmd  *exec.Cmd
	gone chan struct{} // closed when the keeper is

	patience time.Duration // for an answer; after it the keeper is killed
	session  uint32        // in the tags of its commands
	box      *boxLink      // nil for the keeper of commands that are not confined

	send sync.Mutex // one frame at a time

	mu     sync.Mutex
	lastID uint32
	procs  map[uint32]*process
}

func (l *link) awaitHello() error {
	_ = l.conn.SetReadDeadline(time.Now().Add(l.patience))
	var e event
	fds, err := readFrame(l.conn, &e)
	if err != nil || e.Op != opHello {
		closeAll(fds)
		return errors.New("it does not answer: main must call shellrun.Supervise before anything else")
	}
	if e.Failed != nil {
		return e.Failed
	}
	l.session = e.Session
	if l.box != nil {
		if err := l.box.furnish(e, fds); err != nil {
			return err
		}
	}
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

// start has a command started. The request holds what confines it; ended, if not
// nil, completes its status.
func (l *link) start(c Command, r request, ended func(*Status)) (Process, error) {
	p := &process{link: l, started: make(chan error, 1), done: make(chan struct{}), ended: ended}
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
		r.Op, r.ID, r.Path, r.Args, r.Env, r.Dir, r.Expendable = opStart, p.id, c.Path, c.Args, c.Env, c.Dir, c.Expendable
		err = l.request(r, files...)
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
	r.names(rawname.Encode)
	return writeFrame(l.conn, r, files...)
}

// insist kills the keeper after a time, if the timer is not stopped before: a
// keeper that was stopped (a command can do that) watches over nothing, and
// what waits for it would wait forever.
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
	dead := make(chan struct{})
	go func() {
		l.awaitDeath()
		_ = l.conn.CloseRead() // what was sent is still read
		close(dead)
	}()
	for {
		var e event
		if _, err := readFrame(l.conn, &e); err != nil {
			break
		}
		l.dispatch(e)
	}
	<-dead
	l.conn.Close()
	l.box.close()
	l.mu.Lock()
	orphaned := l.procs
	l.procs = map[uint32]*process{}
	l.mu.Unlock()
	if len(orphaned) > 0 {
		killSession(l.session)
		endCgroup(l.cmd.Process.Pid)
	}
	_ = l.cmd.Wait()
	close(l.gone)
	for _, p := range orphaned {
		p.finish(Status{Code: -1, Err: errKeeperDied})
	}
}

// awaitDeath waits until the keeper has died, and leaves it to be reaped. The end of the socket does not tell: a child
// that the keeper was about to start has the other end too, and may be frozen in its cgroup.
func (l *link) awaitDeath() {
	for unix.Waitid(unix.P_PID, l.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
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
		switch {
		case e.Failed != nil:
			p.started <- e.Failed
			return
		case e.Err != "":
			p.started <- errors.New(e.Err)
			return
		}
		p.started <- nil
	case opGone:
		if p := l.forget(e.ID); p != nil {
			p.finish(Status{
				Missed: missed(e.Tried), Unwritten: unwritten(e.Tried),
				Code: e.Code, Signal: e.Signal, Ended: e.Ended, Left: e.Left,
				UserTime: time.Duration(e.UserNS), SystemTime: time.Duration(e.SysNS),
			})
		}
	}
}

// missed returns those of the attempts that would have reached something outside the box: what
// fails there as well is no difference.
func missed(tried []sandbox.Attempt) []string {
	var list []string
	for _, a := range tried {
		switch {
		case a.Path != "":
		case a.Process != 0 && !ownProcess(a.Process):
		case a.Socket != "" && !isForeignSocket(a.Socket):
		case (a.Bind || a.Local()) && !sandbox.Listens(a.Port):
		default:
			list = append(list, a.String())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// unwritten returns the attempts to change files.
func unwritten(tried []sandbox.Attempt) []sandbox.Attempt {
	return slices.DeleteFunc(slices.Clone(tried), func(a sandbox.Attempt) bool { return a.Path == "" })
}

// ownProcess reports whether a process is one that this user could signal.
func ownProcess(pid int) bool {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil && (os.Geteuid() == 0 || int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid())
}

// isForeignSocket reports whether a path, or a name with @ that is no file, is that of a socket of
// the machine. Those of the name service are asked by the C library itself, which looks in files where
// they are missing.
func isForeignSocket(path string) bool {
	for _, dir := range []string{"/run/nscd/", "/var/run/nscd/", "/run/systemd/", "/var/run/systemd/", "/var/lib/sss/"} {
		if strings.HasPrefix(path, dir) {
			return false
		}
	}
	if path[0] == '@' {
		table, _ := os.ReadFile("/proc/net/unix")
		return strings.Contains(string(table)+"\n", " "+path+"\n")
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
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
	ended   func(*Status) // completes the status; nil for nothing to add

	ending sync.Once
}

// PID is that outside of any box.
func (p *process) PID() int {
	if p.link.box == nil {
		return p.pid
	}
	return outerPID(p.link.cmd.Process.Pid, p.pid)
}

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
	if p.ended != nil {
		p.ended(&s)
	}
	p.status = s
	close(p.done)
}
