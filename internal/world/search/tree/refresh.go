package tree

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// A Watcher announces changes in directories. Every change that was complete
// before Drain is called must be among what Drain reports.
type Watcher interface {
	// Add watches the directory and gives a number that is its alone.
	Add(dir string) (wd int32, err error)
	Remove(wd int32)
	// Drain reports what happened since the last call. lost means that some of it
	// is unknown.
	Drain(report func(Event)) (lost bool)
	Close()
}

// Event is one change.
type Event struct {
	Dir     int32  // the number Add gave
	Name    string // of the entry, valid during the call; empty for the directory itself
	Content bool   // the entry's content or attributes changed
	Entries bool   // an entry came, went or was replaced
	Gone    bool   // the directory itself was moved or is no longer watched
}

// source is a file outside the tree that decides what is in it.
type source struct {
	path      string
	stat      rawfs.Stat // zero if absent
	unsettled bool       // stat was so new that a clock tick could hide a change
}

// sum identifies a source and its state. One that was so new that a clock tick could
// hide a change never has the same sum again.
func (s *source) sum() []byte {
	b := append([]byte(s.path), 0)
	if s.stat.Kind == rawfs.Directory {
		return append(b, "dir"...) // that it is there is all that counts
	}
	st := s.stat
	words := []uint64{uint64(st.Mtime), uint64(st.Ctime), uint64(st.Size), st.Ino, st.Dev, uint64(st.Kind), 0}
	if s.unsettled {
		words[6] = uint64(time.Now().UnixNano())
	}
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// newSource notes the state of a rule file, which must come before it is read.
func newSource(path string) source {
	at := time.Now()
	st, _ := rawfs.StatPath(path)
	return source{path, st, recent(st, at)}
}

// changes is what a refresh has to look at again.
type changes struct {
	dirs  map[*Dir]bool            // relist
	rules map[*Dir]bool            // forget everything below and walk again
	files map[*Dir]map[string]bool // by name
}

func (c *changes) file(d *Dir, name string) {
	if c.files[d] == nil {
		c.files[d] = map[string]bool{}
	}
	c.files[d][strings.Clone(name)] = true
}
