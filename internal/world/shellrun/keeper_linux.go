package shellrun

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/text/rawname"
	"github.com/haftdev/haft/internal/world/sandbox"
	"golang.org/x/sys/unix"
)

// A keeper is the supervisor process: it starts commands for the harness,
// adopts their orphans, and sees to it that nothing is left. One goroutine owns
// all its state. The end of the socket is the end of the harness, whatever
// killed it.
type keeper struct {
	conn    *net.UnixConn
	self    int
	session uint32
	groups  cgroups
	grouped bool // a command was started in a group
	jobs    map[uint32]*job
	mains   map[int]*job // by pid, until the main process was reaped

	immortal map[int]bool // children given up on; nobody waits for them again

	box   *sandbox.Box // nil outside one
	rooms rooms        // where confined commands are started
	seen  *sightings   // what they tried to reach
	score *score
}

// keep runs the keeper on its socket until the harness is gone and everything
// it started with it.
func keep(conn *net.UnixConn, groups cgroups, box *sandbox.Box, score *score) {
	runtime.LockOSThread() // the death signal of a command is tied to the thread that started it
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	k := &keeper{
		conn: conn, self: os.Getpid(), session: rand.Uint32() & sessionMask, groups: groups,
		jobs: map[uint32]*job{}, mains: map[int]*job{}, immortal: map[int]bool{}, box: box, rooms: rooms{}, seen: newSightings(box), score: score,
	}
	defer groups.close()

	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	// Caught, not ignored: commands would inherit an ignored signal. Only the
	// end of the harness ends the keeper.
	signal.Notify(make(chan os.Signal, 1), k.caught()...)

	k.hello()
	requests := k.requests()
	alarm := time.NewTimer(time.Hour)
	for requests != nil || len(k.jobs) > 0 {
		select {
		case r, ok := <-requests:
			if !ok {
				requests = nil
				k.endAll()
				break
			}
			k.serve(r)
		case <-children:
			k.settle(k.reap())
		case <-alarm.C:
			k.tick()
		}
		alarm.Reset(k.untilNextDeadline())
	}
}

// caught are the signals that do not end the keeper. In a box commands may send
// it any: none is ignored by the kernel that Go has a handler for.
func (k *keeper) caught() []os.Signal {
	if k.box != nil {
		return nil // all
	}
	return []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGPIPE, unix.SIGQUIT}
}

func (k *keeper) hello() {
	e := event{Op: opHello, PID: k.self, Session: k.session}
	if k.box == nil {
		k.tell(e)
		return
	}
	e.Gaps, e.Apart = k.box.Gaps(), k.box.HasLandlock()
	if l := k.box.Listener(); l != nil {
		_ = writeFrame(k.conn, e, l)
		l.Close()
		return
	}
	k.tell(e)
}

// requests reads the socket until it ends.
func (k *keeper) requests() <-chan request {
	requests := make(chan request)
	go func() {
		defer close(requests)
		for {
			var r request
			fds, err := readFrame(k.conn, &r)
			if err != nil {
				return
			}
			r.names(rawname.Decode)
			r.files = fds
			requests <- r
		}
	}()
	return requests
}

// tell sends an event. Nobody is there to hear it when the harness has gone,
// which is no reason to stop.
func (k *keeper) tell(e event) { _ = writeFrame(k.conn, e) }

func (k *keeper) serve(r request) {
	switch r.Op {
	case opStart:
		k.start(r)
	case opEnd:
		if j := k.jobs[r.ID]; j != nil {
			k.end(j, time.Duration(r.GraceMS)*time.Millisecond)
		}
	}
}

// start starts the main process of a command: a session of its own, no
// terminal, and death when the keeper dies.
func (k *keeper) start(r request) {
	// A new group each time: a command may have left its own frozen, threaded or with groups in it.
	j := &job{id: r.ID, tag: newTag(k.session, r.ID), group: k.groups.add(r.ID)}
	pid, err := k.fork(r, j)
	if err != nil && j.group != nil { // a group we may make but not start in
		j.group.remove()
		j.group = nil
		if pid, err = k.fork(r, j); err == nil && !k.grouped {
			k.groups.dir = "" // make no more; the lock on it is kept to the end
		}
	}
	k.grouped = k.grouped || err == nil && j.group != nil
	if err == nil && len(r.files) > stdFiles {
		j.held, r.files = r.files[stdFiles:], r.files[:stdFiles]
	}
	closeAll(r.files)
	if err != nil {
		e := event{Op: opStarted, ID: r.ID, Err: err.Error()}
		errors.As(err, &e.Failed)
		k.tell(e)
		return
	}
	j.pid = pid
	k.jobs[j.id], k.mains[pid] = j, j
	k.tell(event{Op: opStarted, ID: r.ID, PID: pid})
}

func (k *keeper) fork(r request, j *job) (pid int, err error) {
	if len(r.files) < stdFiles {
		return 0, unix.EBADF
	}
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if j.group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, j.group.fd()
	}
	j.tag.wear()
	files := []uintptr{uintptr(r.files[0]), uintptr(r.files[1]), uintptr(r.files[2])}
	exec := func() {
		pid, err = syscall.ForkExec(r.Path, r.Args, &syscall.ProcAttr{Dir: r.Dir, Env: r.Env, Files: files, Sys: attr})
	}
	start := exec
	if r.Expendable {
		start = func() {
			if !k.score.raised(exec) {
				k.score = nil
			}
		}
	}
	if len(r.Box) == 0 {
		start()
		return pid, err
	}
	in, failed := k.rooms.run(string(r.Box), k.enter(r), func(in *room) {
		k.seen.began(j.tag, in) // before the command can do anything
		start()
	})
	if failed != nil {
		return 0, failed
	}
	if err != nil {
		in.leave()
		k.seen.ended(j.tag)
		return 0, err
	}
	j.room = in
	return pid, nil
}

// enter confines the thread that starts a command.
func (k *keeper) enter(r request) func(*sandbox.Spec) error {
	if k.box != nil {
		return func(s *sandbox.Spec) error { return k.box.Enter(s, k.seen.watch) }
	}
	return func(s *sandbox.Spec) error { return sandbox.EnterLandlock(s, r.Tmp, r.Port) }
}

// reap collects all dead children, mains and adopted orphans. It reports
// whether no child is left at all, which proves without a look at /proc that
// nothing survived.
func (k *keeper) reap() (childless bool) {
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, &usage)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return true
		case pid == 0:
			return false
		}
		delete(k.immortal, pid)
		if j := k.mains[pid]; j != nil {
			delete(k.mains, pid)
			j.exited(status, usage)
		}
	}
}

// settle announces the commands that are over: the main process has exited and
// no descendant is left.
func (k *keeper) settle(childless bool) {
	var orphans []int
	looked := childless
	for _, j := range k.jobs {
		if !j.over {
			continue
		}
		if !looked {
			orphans, looked = k.orphans(), true
		}
		if !k.survives(j, orphans) {
			k.finish(j)
		} else if j.phase == running {
			j.enter(lingering, lingerTime)
		}
	}
}

// orphans lists the adopted children.
func (k *keeper) orphans() []int {
	var orphans []int
	for _, pid := range childrenOf(k.self) {
		if k.mains[pid] == nil && !k.immortal[pid] {
			orphans = append(orphans, pid)
		}
	}
	return orphans
}

// survives reports whether anything of a command whose main process is gone is
// left. All that is left was adopted by the keeper. An orphan that shed its tag
// belongs to some command that ran; it is counted when no main process is left
// that might own it.
func (k *keeper) survives(j *job, orphans []int) bool {
	for _, pid := range orphans {
		if t := tagOf(pid); t == j.tag || k.stray(t) {
			return true
		}
	}
	return j.group.populated()
}

// stray reports whether a tag found on an orphan is nobody's, at a time when
// nobody runs.
func (k *keeper) stray(t tag) bool {
	if len(k.mains) > 0 {
		return false
	}
	for _, j := range k.jobs {
		if j.tag == t {
			return false
		}
	}
	return true
}

func (k *keeper) finish(j *job) {
	delete(k.jobs, j.id)
	j.group.remove()
	closeAll(j.held)
	if j.room != nil {
		j.room.leave()
	}
	k.tell(event{
		Tried: k.seen.ended(j.tag),
		Op:    opGone, ID: j.id, Code: j.code, Signal: j.signal, Ended: j.ended, Left: j.left,
		UserNS: j.usage.Utime.Nano(), SysNS: j.usage.Stime.Nano(),
	})
}

// end begins to end a command, or hastens an end that has begun.
func (k *keeper) end(j *job, grace time.Duration) {
	if j.phase >= asked {
		return
	}
	if grace <= 0 {
		k.kill(j)
		return
	}
	k.ask(j, grace)
}

func (k *keeper) endAll() {
	for _, j := range k.jobs {
		k.end(j, deathGrace)
	}
}

// tick moves on the commands whose phase has run out.
func (k *keeper) tick() {
	now := time.Now()
	for _, j := range k.jobs {
		if j.phase == running || now.Before(j.deadline) {
			continue
		}
		switch j.phase {
		case lingering:
			k.ask(j, deathGrace)
		case asked, killing:
			k.kill(j)
		}
	}
	k.settle(k.reap())
}

func (k *keeper) untilNextDeadline() time.Duration {
	next := time.Hour
	for _, j := range k.jobs {
		if j.phase != running {
			next = min(next, max(time.Until(j.deadline), 0))
		}
	}
	return next
}

// ask sends SIGTERM to every process of the command, and SIGCONT so that
// stopped ones can obey.
func (k *keeper) ask(j *job, grace time.Duration) {
	for _, p := range k.members(j) {
		if j.over {
			j.ended = append(j.ended, p.name)
		}
		_ = p.signal(unix.SIGTERM)
		_ = p.signal(unix.SIGCONT)
	}
	j.enter(asked, grace)
}

// kill runs one round of SIGKILL and sets the next, until killTime is over and
// what is left is reported as such.
func (k *keeper) kill(j *job) {
	if j.phase != killing {
		j.giveUp = time.Now().Add(killTime)
	}
	j.enter(killing, killPause)
	j.group.kill()
	// The keeper's own children first: a chain of processes that fork and exit
	// is always here, and moves on within microseconds.
	for _, pid := range k.orphans() {
		if t := tagOf(pid); t == j.tag || k.stray(t) {
			_ = unix.Kill(pid, unix.SIGKILL) // a child not yet reaped: its pid cannot be another's
		}
	}
	members := k.members(j)
	for _, p := range members {
		_ = p.signal(unix.SIGKILL)
	}
	if time.Now().After(j.giveUp) {
		k.abandon(j, members)
	}
}

// abandon reports what no signal ends.
func (k *keeper) abandon(j *job, members []proc) {
	for _, p := range members {
		j.left = append(j.left, p.pid)
		k.immortal[p.pid] = true
	}
	delete(k.mains, j.pid)
	k.finish(j)
}

// members finds every process of a command: those that wear its tag, those of
// its session, and all that descend from them.
func (k *keeper) members(j *job) []proc {
	all := allProcs()
	member := make(map[int]bool)
	for _, p := range all {
		member[p.pid] = p.pid != k.self && k.owns(j, p)
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !member[p.pid] && member[p.ppid] && p.pid != k.self {
				member[p.pid], grown = true, true
			}
		}
	}
	var members []proc
	for _, p := range all {
		if member[p.pid] && !p.zombie() {
			members = append(members, p)
		}
	}
	return members
}

// owns reports whether p is a process of the command by itself, whatever its
// parent.
func (k *keeper) owns(j *job, p proc) bool {
	if p.pid == j.pid || p.sid == j.pid {
		return true
	}
	t := tagOf(p.pid)
	return t == j.tag || p.ppid == k.self && k.mains[p.pid] == nil && k.stray(t)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
