package preview

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// A moment is the time at which a command starts, by the clock that file systems
// give change times by. A file that was changed in the same tick of it counts as
// changed later: it is better to report one change too many.
type moment struct {
	tick int64
	now  time.Time
}

func thisMoment() moment {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t); err != nil {
		return moment{now: time.Now()} // everything is later
	}
	return moment{tick: t.Nano(), now: time.Now()}
}

// after reports whether a file was changed later.
func (m moment) after(s stamp) bool { return s.ctime >= m.tick }

var errClock = errors.New("the machine's clock was set back while the command ran, so haft cannot tell what other programs changed in the meantime")

// check reports that change times mean nothing since.
func (m moment) check() error {
	now := time.Now()
	if now.Round(0).Sub(m.now.Round(0)) < now.Sub(m.now)-10*time.Millisecond {
		return errClock
	}
	return nil
}
