package readstate

// Forget drops a file.
func (s *State) Forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, ok := s.entries[path]; ok {
		s.remove(el)
	}
}

// Len returns the number of files known and the bytes of content kept.
func (s *State) Len() (files int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries), s.bytes
}
