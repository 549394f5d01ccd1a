package jsonstream

import "slices"

// A keySet holds the decoded keys of one object in order of arrival.
type keySet struct {
	names []string
	index map[string]int // into names; nil while a linear search is as fast
}

// linearKeys is how many keys are searched without an index. Tools rarely have more.
const linearKeys = 8

func (s *keySet) find(name string) (int, bool) {
	if s.index != nil {
		i, ok := s.index[name]
		return i, ok
	}
	i := slices.Index(s.names, name)
	return i, i >= 0
}

// add reports whether name was new.
func (s *keySet) add(name string) bool {
	if _, found := s.find(name); found {
		return false
	}
	s.names = append(s.names, name)
	switch {
	case s.index != nil:
		s.index[name] = len(s.names) - 1
	case len(s.names) > linearKeys:
		s.index = make(map[string]int, 2*len(s.names))
		for i, n := range s.names {
			s.index[n] = i
		}
	}
	return true
}

// reset empties the set. The index is dropped and not cleared: clearing costs its
// capacity, which one large object would pass on to every small one after it.
func (s *keySet) reset() {
	clear(s.names)
	s.names = s.names[:0]
	s.index = nil
}

func (s *keySet) last() string { return s.names[len(s.names)-1] }
