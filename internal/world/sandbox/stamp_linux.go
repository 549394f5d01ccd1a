package sandbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// A Stamp tells whether anything in a folder has been added, removed or replaced since
// it was taken, by checking the folder instead of every file in it.
type Stamp struct {
	dev, ino uint64
	changed  unix.Timespec
	settled  bool // the next change will have another time
}

// tick is longer than the clock of any file system takes for a step.
const tick = 50 * time.Millisecond

// StampOf takes the Stamp of a folder. A folder that does not exist has one too.
func StampOf(dir string) Stamp {
	now := time.Now()
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return Stamp{settled: true}
	}
	return Stamp{dev: stat.Dev, ino: stat.Ino, changed: stat.Ctim, settled: time.Unix(stat.Ctim.Unix()).Before(now.Add(-tick))}
}

// there reports whether the folder was there.
func (s Stamp) there() bool { return s.ino != 0 }

// Holds reports whether the folder is certainly unchanged.
func (s Stamp) Holds(dir string) bool {
	now := StampOf(dir)
	return s.settled && now.dev == s.dev && now.ino == s.ino && now.changed == s.changed
}
