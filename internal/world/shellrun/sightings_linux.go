package shellrun

import (
	"encoding/binary"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// sightings are what confined commands tried to reach, by their tags. Those who watch add to
// them while the keeper serves.
type sightings struct {
	mu    sync.Mutex
	rooms map[tag]*room
	tried map[tag][]sandbox.Attempt

	listings int // tells that processes were listed; negative for nothing
}

func newSightings(box *sandbox.Box) *sightings {
	listings := -1
	if box != nil {
		listings = box.Listings()
	}
	return &sightings{listings: listings, rooms: map[tag]*room{}, tried: map[tag][]sandbox.Attempt{}}
}

// maxAttempts bounds what is remembered of a command.
const maxAttempts = 32

// watch sees what the commands of a new room try.
func (s *sightings) watch(w *sandbox.Watcher) {
	go w.Watch(func(pid int, a sandbox.Attempt) (send bool) {
		who := tagOf(pid)
		s.mu.Lock()
		defer s.mu.Unlock()
		if a.Process != 0 {
			whose := tagOf(a.Process)
			mine, theirs := s.rooms[who], s.rooms[whose]
			if whose != 0 && (whose == who || theirs != nil && theirs == mine) { // commands of a room may signal each other
				return false
			}
			if mine != nil && mine.signals && theirs != nil {
				return true
			}
		}
		if list := s.tried[who]; who != 0 && len(list) < maxAttempts && !slices.Contains(list, a) {
			s.tried[who] = append(list, a)
		}
		return false
	})
}

// lookAtListings sees that processes were listed since the last time, but not by whom: by one of
// the commands that run.
func (s *sightings) lookAtListings() {
	var events [4096]byte
	found := false
	for s.listings >= 0 {
		n, err := unix.Read(s.listings, events[:])
		if err != nil || n <= 0 {
			break
		}
		found = found || listed(events[:n])
	}
	if !found {
		return
	}
	for who := range s.rooms {
		if a := (sandbox.Attempt{Listing: true}); !slices.Contains(s.tried[who], a) {
			s.tried[who] = append(s.tried[who], a)
		}
	}
}

// listed reports whether one of these events is about the folder itself, not a file in it, or may be.
func listed(events []byte) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		mask, size := binary.NativeEndian.Uint32(events[4:]), int(binary.NativeEndian.Uint32(events[12:]))
		if size == 0 && mask&unix.IN_ISDIR != 0 || mask&unix.IN_Q_OVERFLOW != 0 {
			return true
		}
		events = events[min(len(events), unix.SizeofInotifyEvent+size):]
	}
	return false
}

func (s *sightings) began(t tag, in *room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookAtListings() // what was listed until now, others have
	s.rooms[t] = in
}

// ended forgets a command and returns what it tried.
func (s *sightings) ended(t tag) []sandbox.Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookAtListings()
	tried := s.tried[t]
	delete(s.tried, t)
	delete(s.rooms, t)
	return tried
}
