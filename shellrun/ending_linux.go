package shellrun

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	lingerTime = 100 * time.Millisecond // for descendants that outlive the command to write their last lines and leave
	deathGrace = 200 * time.Millisecond // between SIGTERM and SIGKILL when nobody chose another time
	killPause  = 5 * time.Millisecond   // between two rounds of SIGKILL
	killTime   = 1500 * time.Millisecond
)

// A phase is how far the end of a command has come.
type phase int

const (
	running   phase = iota
	lingering       // the main process exited, others have a moment to follow
	asked           // SIGTERM was sent
	killing         // SIGKILL is sent until nobody is left
)

// A job is one command in the keeper.
type job struct {
	id    uint32
	pid   int
	tag   tag
	group *cgroup
	room  *room // nil for one that is not confined
	held  []int // a descriptor that is open until the end of the last process, or none

	over         bool // the main process was reaped
	code, signal int
	usage        unix.Rusage
	ended        []string
	left         []int

	phase    phase
	deadline time.Time // of the phase
	giveUp   time.Time // of killing
}

func (j *job) exited(status unix.WaitStatus, usage unix.Rusage) {
	j.over, j.usage = true, usage
	j.code = status.ExitStatus()
	if status.Signaled() {
		j.signal = int(status.Signal())
		j.code = 128 + j.signal
	}
}

func (j *job) enter(p phase, d time.Duration) {
	j.phase, j.deadline = p, time.Now().Add(d)
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
