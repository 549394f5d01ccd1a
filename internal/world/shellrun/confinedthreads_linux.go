package shellrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// rooms are the threads that start confined commands, by the Spec in JSON. A
// thread is confined once, and every process that it starts inherits that: a
// confined command costs what any other does.
type rooms map[string]*room

// A room is one such thread. It ends when it is no longer used for new commands and those that
// it has started have ended: the death signal of a command is tied to the thread that started it.
type room struct {
	work    chan func()
	seen    stamps
	count   uint64
	users   int  // commands that have not ended
	retired bool // no more commands are started
	signals bool // its commands may signal those of other rooms
}

// retire keeps new commands away.
func (r *room) retire() {
	r.users++
	r.retired = true
	r.leave()
}

// leave is called for each command that has ended.
func (r *room) leave() {
	if r.users--; r.retired && r.users == 0 {
		close(r.work)
	}
}

// maxRooms bounds the threads of a session whose Specs keep changing.
const maxRooms = 16

// run calls f on a thread that is confined to the Spec, and returns its room, which must be
// left.
func (r rooms) run(key string, enter func(*sandbox.Spec) error, f func(*room)) (*room, error) {
	if room := r[key]; room != nil {
		if !room.seen.stale() {
			room.do(f)
			return room, nil
		}
		room.retire()
		delete(r, key)
	}
	spec := new(sandbox.Spec)
	if err := json.Unmarshal([]byte(key), spec); err != nil {
		return nil, err
	}
	room := &room{work: make(chan func()), seen: stampsOf(spec), signals: !spec.KeepSignals && len(spec.Layers) == 0}
	if err := room.open(func() error { return enter(spec) }); err != nil {
		return nil, err
	}
	room.do(f)
	if len(spec.Layers) > 0 { // made for one command
		room.retire()
		return room, nil
	}
	r.evict()
	r[key] = room
	return room, nil
}

func (r *room) do(f func(*room)) {
	r.count++
	r.users++
	done := make(chan struct{})
	r.work <- func() { f(r); close(done) }
	<-done
}

// evict ends the room that was used least when there are too many.
func (r rooms) evict() {
	if len(r) < maxRooms {
		return
	}
	var least string
	for key, room := range r {
		if least == "" || room.count < r[least].count {
			least = key
		}
	}
	r[least].retire()
	delete(r, least)
}

// open starts the thread and confines it.
func (r *room) open(enter func() error) error {
	ready := make(chan error)
	go r.serve(enter, ready)
	return <-ready
}

func (r *room) serve(enter func() error, ready chan<- error) {
	runtime.LockOSThread() // for good: the thread ends with this goroutine
	if unix.Gettid() == unix.Getpid() {
		// The first thread stands for the whole process in /proc. It is kept
		// until another goroutine has another thread.
		elsewhere := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(elsewhere)
			r.confined(enter, ready)
		}()
		<-elsewhere
		runtime.UnlockOSThread()
		return
	}
	r.confined(enter, ready)
}

func (r *room) confined(enter func() error, ready chan<- error) {
	err := enter()
	ready <- err
	if err != nil {
		return
	}
	for f := range r.work {
		f()
	}
}

// stamps are which files were at the paths of a Spec when a room was made, by
// folder: a mount on a file goes when another is put in its place. Where nothing
// has changed in a folder its files are not looked at one by one.
type stamps map[string]*folder

type folder struct {
	stamp sandbox.Stamp
	files map[string]fileID // by path
}

// A fileID tells files apart; zero is none.
type fileID struct{ dev, ino uint64 }

func stampsOf(s *sandbox.Spec) stamps {
	paths := slices.Concat(s.Write, s.Read, s.Scratch, s.Hide, s.Protect, s.Deny, s.Pin)
	for _, path := range s.Protect {
		for dir := filepath.Dir(path); slices.ContainsFunc(s.Write, func(w string) bool { return len(dir) > len(w) && dir[:len(w)] == w }); dir = filepath.Dir(dir) {
			paths = append(paths, dir)
		}
	}
	all := stamps{}
	for _, path := range paths {
		dir := filepath.Dir(path)
		if all[dir] == nil {
			all[dir] = &folder{sandbox.StampOf(dir), map[string]fileID{}} // before its files, so that no change is missed
		}
		all[dir].files[path] = fileAt(path)
	}
	return all
}

func fileAt(path string) fileID {
	info, err := os.Lstat(path)
	if err != nil {
		return fileID{}
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fileID{uint64(stat.Dev), stat.Ino}
}

// stale reports whether other files are there now.
func (s stamps) stale() bool {
	for dir, f := range s {
		if f.stamp.Holds(dir) {
			continue
		}
		now := sandbox.StampOf(dir)
		for path, id := range f.files {
			if fileAt(path) != id {
				return true
			}
		}
		f.stamp = now
	}
	return false
}
