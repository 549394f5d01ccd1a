// Package readstate remembers what a conversation has read, so that an edit can tell a file it knows from one it does not.
//
// Staleness is a question of content: an entry holds the hash of what was read, and modification times are only kept for
// show. While there is room an entry also keeps the content itself, as the base of a three-way merge. Both the number of
// files and the kept bytes are bounded; the least recently used go first, contents before entries.
//
// A State is safe for concurrent use. Its JSON form, without contents, is what survives a restart.
package readstate

import (
	"cmp"
	"container/list"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Entry is what is known about one file.
type Entry struct {
	Path     string    `json:"path"` // physical
	Hash     string    `json:"hash"` // of the raw content
	Size     int64     `json:"size"`
	ModTime  time.Time `json:"modTime"`
	Encoding string    `json:"encoding,omitempty"`
	Given    bool      `json:"given,omitempty"` // the agent said the encoding
	EOL      string    `json:"eol,omitempty"`
	Ranges   []Range   `json:"ranges,omitempty"` // lines seen or written, ascending and apart
	Base     []byte    `json:"-"`                // the raw content, if it is still kept
	Conflict string    `json:"-"`                // the hash of a later content that the agent was told is in its way
}

// Range is a run of lines, counted from 1, both ends included.
type Range struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Options bounds a State.
type Options struct {
	MaxFiles int   // entries kept; 0 means 4096
	MaxBytes int64 // bytes of content kept in all; 0 means 64 MB
	MaxFile  int64 // bytes of one content; 0 means 8 MB
}

// State is the memory of one conversation.
type State struct {
	opts Options

	mu      sync.Mutex
	entries map[string]*list.Element // of *Entry, by path
	recent  *list.List               // most recently used first
	bytes   int64
}

// New returns an empty State.
func New(opts *Options) *State {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	o.MaxFiles = cmp.Or(o.MaxFiles, 4096)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.MaxFile = cmp.Or(o.MaxFile, 8<<20)
	return &State{opts: o, entries: map[string]*list.Element{}, recent: list.New()}
}

// Put records what was read or written. Lines seen of the same content add up. The State keeps e.Base; nobody may change it.
func (s *State) Put(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Ranges = slices.Clone(e.Ranges)
	if el, ok := s.entries[e.Path]; ok {
		old := el.Value.(*Entry)
		if old.Hash == e.Hash {
			e.Ranges = append(e.Ranges, old.Ranges...)
			if e.Base == nil {
				e.Base = old.Base
			}
		}
		s.remove(el)
	}
	e.Ranges = merge(e.Ranges)
	if int64(len(e.Base)) > s.opts.MaxFile {
		e.Base = nil
	}
	s.entries[e.Path] = s.recent.PushFront(&e)
	s.bytes += int64(len(e.Base))
	s.shrink()
}

// Get returns what is known about a file.
func (s *State) Get(path string) (Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	el, ok := s.entries[path]
	if !ok {
		return Entry{}, false
	}
	s.recent.MoveToFront(el)
	e := *el.Value.(*Entry)
	e.Ranges = slices.Clone(e.Ranges)
	return e, true
}

func (s *State) remove(el *list.Element) {
	e := s.recent.Remove(el).(*Entry)
	delete(s.entries, e.Path)
	s.bytes -= int64(len(e.Base))
}

func (s *State) shrink() {
	for len(s.entries) > s.opts.MaxFiles {
		s.remove(s.recent.Back())
	}
	for el := s.recent.Back(); el != nil && s.bytes > s.opts.MaxBytes; el = el.Prev() {
		e := el.Value.(*Entry)
		s.bytes -= int64(len(e.Base))
		e.Base = nil
	}
}

// merge sorts ranges and joins those that touch.
func merge(rs []Range) []Range {
	slices.SortFunc(rs, func(a, b Range) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	var out []Range
	for _, r := range rs {
		if n := len(out); n > 0 && r.From <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// MarshalJSON writes the entries, least recently used first, without contents.
func (s *State) MarshalJSON() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Entry, 0, len(s.entries))
	for el := s.recent.Back(); el != nil; el = el.Prev() {
		out = append(out, *el.Value.(*Entry))
	}
	return json.Marshal(out)
}

// UnmarshalJSON replaces the entries by those that MarshalJSON wrote. The bounds stay.
func (s *State) UnmarshalJSON(b []byte) error {
	var in []Entry
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	fresh := New(&s.opts)
	for _, e := range in {
		fresh.Put(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts, s.entries, s.recent, s.bytes = fresh.opts, fresh.entries, fresh.recent, fresh.bytes
	return nil
}
