package shellrun

import (
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// sightings are what confined commands tried to reach, by their tags. Those who watch add to
// them while the keeper serves.
type sightings struct {
	mu    sync.Mutex
	rooms map[tag]*room
	tried map[tag][]sandbox.Attempt
}

func newSightings() *sightings {
	return &sightings{rooms: map[tag]*room{}, tried: map[tag][]sandbox.Attempt{}}
}

// maxAttempts bounds what is remembered of a command.
const maxAttempts = 32

// watch sees what the commands of a new room try.
func (s *sightings) watch(listener int) {
	go sandbox.Watch(listener, func(pid int, a sandbox.Attempt) {
		who := tagOf(pid)
		s.mu.Lock()
		defer s.mu.Unlock()
		if a.Process != 0 { // commands of a room may signal each other
			if whose := tagOf(a.Process); whose != 0 && (whose == who || s.rooms[whose] != nil && s.rooms[whose] == s.rooms[who]) {
				return
			}
		}
		if list := s.tried[who]; who != 0 && len(list) < maxAttempts && !slices.Contains(list, a) {
			s.tried[who] = append(list, a)
		}
	})
}

func (s *sightings) began(t tag, in *room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[t] = in
}

// ended forgets a command and returns what it tried.
func (s *sightings) ended(t tag) []sandbox.Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	tried := s.tried[t]
	delete(s.tried, t)
	delete(s.rooms, t)
	return tried
}
