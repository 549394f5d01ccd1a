package shellrun

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A tag marks every process of one command. It is the soft limit on real-time
// CPU, which every descendant inherits through fork, exec, setsid and a cleared
// environment, and which, at some ten thousand years of it, limits nobody.
type tag uint64

// newTag makes the tag of a command: bit 62 sets tags apart from limits that
// people set, then 30 bits name the session and 32 the command.
func newTag(session, id uint32) tag {
	return tag(1<<62 | uint64(session)<<32 | uint64(id))
}

const sessionMask = 1<<30 - 1

func (t tag) session() uint32 { return uint32(t>>32) & sessionMask }

// wear gives this process the tag, for the child it starts next. Where a hard
// limit forbids it the children stay untagged.
func (t tag) wear() {
	var limit unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &limit) == nil {
		limit.Cur = uint64(t)
		_ = unix.Prlimit(0, unix.RLIMIT_RTTIME, &limit, nil)
	}
}

// tagOf reads the tag that a process wears; zero is none, or none of ours.
func tagOf(pid int) tag {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) != nil {
		limit.Cur = rtTimeOf(pid)
	}
	if limit.Cur == unix.RLIM_INFINITY || limit.Cur&(1<<62) == 0 {
		return 0
	}
	return tag(limit.Cur)
}

// rtTimeOf reads the limit of a process that changed its user, which prlimit
// refuses.
func rtTimeOf(pid int) uint64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(data), "Max realtime timeout")
	if !ok {
		return 0
	}
	soft, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	limit, _ := strconv.ParseUint(soft, 10, 64) // "unlimited" is no tag
	return limit
}

// killSession kills every process that wears a tag of the session: what is left
// to do when the keeper itself was killed.
func killSession(session uint32) {
	for range 100 {
		var found bool
		for _, p := range allProcs() {
			if t := tagOf(p.pid); t != 0 && t.session() == session && !p.zombie() {
				found = p.signal(unix.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
		time.Sleep(killPause)
	}
}
