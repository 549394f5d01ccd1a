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
