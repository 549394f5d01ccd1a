package watch

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/haftdev/haft/internal/world/search/tree"
)

// watcher is an inotify instance.
type watcher struct {
	mu    sync.Mutex
	fd    int // -1 when closed
	limit int // watches this instance allows itself
	held  map[int32]bool
	buf   []byte
}

const mask = syscall.IN_MODIFY | syscall.IN_ATTRIB | syscall.IN_CLOSE_WRITE |
	syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO |
	syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_ONLYDIR | syscall.IN_DONT_FOLLOW

// New makes a watcher that takes at most half of the watches the user may have:
// editors and compilers want theirs.
func New() (tree.Watcher, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &watcher{fd: fd, limit: maxWatches() / 2, held: map[int32]bool{}, buf: make([]byte, 64<<10)}, nil
}

func maxWatches() int {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 8192
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 8192
	}
	return n
}

var errTooMany = errors.New("too many directories to watch")

// Add implements [tree.Watcher].
func (w *watcher) Add(dir string) (int32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd < 0 {
		return -1, os.ErrClosed
	}
	if len(w.held) >= w.limit {
		return -1, errTooMany
	}
	wd, err := syscall.InotifyAddWatch(w.fd, dir, mask)
	if err != nil {
		return -1, err
	}
	w.held[int32(wd)] = true
	return int32(wd), nil
}

// Remove implements [tree.Watcher].
func (w *watcher) Remove(wd int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd >= 0 {
		syscall.InotifyRmWatch(w.fd, uint32(wd)) // fails if the directory is gone, and the watch with it
		delete(w.held, wd)
	}
}

// Drain implements [tree.Watcher].
func (w *watcher) Drain(report func(tree.Event)) (lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd < 0 {
		return true
	}
	for {
		n, err := syscall.Read(w.fd, w.buf)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return lost
		case err != nil || n <= 0:
			return true
		}
		lost = w.decode(w.buf[:n], report) || lost
	}
}

func (w *watcher) decode(b []byte, report func(tree.Event)) (lost bool) {
	for len(b) >= syscall.SizeofInotifyEvent {
		e := (*syscall.InotifyEvent)(unsafe.Pointer(&b[0]))
		name := b[syscall.SizeofInotifyEvent : syscall.SizeofInotifyEvent+e.Len]
		b = b[syscall.SizeofInotifyEvent+e.Len:]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if e.Mask&syscall.IN_Q_OVERFLOW != 0 {
			lost = true
			continue
		}
		const content = syscall.IN_MODIFY | syscall.IN_ATTRIB | syscall.IN_CLOSE_WRITE
		const entries = syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO
		const gone = syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_IGNORED | syscall.IN_UNMOUNT
		report(tree.Event{
			Dir: e.Wd, Name: string(name),
			Content: e.Mask&content != 0, Entries: e.Mask&entries != 0, Gone: e.Mask&gone != 0,
		})
	}
	return lost
}

// Close implements [tree.Watcher].
func (w *watcher) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd >= 0 {
		syscall.Close(w.fd)
		w.fd = -1
	}
}
