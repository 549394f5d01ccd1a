package shellrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/sandbox"
)

// rooms are the threads that start confined commands, by the Spec in JSON. A
// thread is confined once, and every process that it starts inherits that: a
// confined command costs what any other does.
type rooms map[string]*room

// A room is one such thread. It ends when work is closed; the commands that it
// has started do not.
type room struct {
	work  chan func()
	seen  []stamp
	count uint64
}

// maxRooms bounds the threads of a session whose Specs keep changing.
const maxRooms = 16

// run calls f on a thread that is confined to the Spec.
func (r rooms) run(key string, enter func(*sandbox.Spec) error, f func()) error {
	if room := r[key]; room != nil {
		if !stale(room.seen) {
			room.do(f)
			return nil
		}
		close(room.work)
		delete(r, key)
	}
	spec := new(sandbox.Spec)
	if err := json.Unmarshal([]byte(key), spec); err != nil {
		return err
	}
	room := &room{work: make(chan func()), seen: stampsOf(spec)}
	if err := room.open(func() error { return enter(spec) }); err != nil {
		return err
	}
	room.do(f)
	if len(spec.Layers) > 0 { // made for one command
		close(room.work)
		return nil
	}
	r.evict()
	r[key] = room
	return nil
}

func (r *room) do(f func()) {
	r.count++
	done := make(chan struct{})
	r.work <- func() { f(); close(done) }
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
	close(r[least].work)
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

// A stamp is which file was at a path when a room was made. A mount on a file
// goes when another is put in its place.
type stamp struct {
	path     string
	dev, ino uint64 // 0 for none
}

func stampsOf(s *sandbox.Spec) []stamp {
	paths := slices.Concat(s.Write, s.Read, s.Scratch, s.Hide, s.Protect)
	for _, path := range s.Protect {
		for dir := filepath.Dir(path); slices.ContainsFunc(s.Write, func(w string) bool { return len(dir) > len(w) && dir[:len(w)] == w }); dir = filepath.Dir(dir) {
			paths = append(paths, dir)
		}
	}
	slices.Sort(paths)
	var stamps []stamp
	for _, path := range slices.Compact(paths) {
		stamps = append(stamps, stampOf(path))
	}
	return stamps
}

func stampOf(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{path: path}
	}
	stat := info.Sys().(*syscall.Stat_t)
	return stamp{path, uint64(stat.Dev), stat.Ino}
}

func stale(stamps []stamp) bool {
	return slices.ContainsFunc(stamps, func(s stamp) bool { return stampOf(s.path) != s })
}
