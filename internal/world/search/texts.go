package search

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/internal/world/search/tree"
)

// cache keeps the text of files between queries, up to a number of bytes. What is
// kept belongs to one version of a file, and goes when that goes; nothing is thrown
// out to make room, because a query that reads everything would throw out all. It is
// safe for concurrent use, and nil keeps nothing.
type cache struct {
	budget *budget
	shards [64]shard
}

// budget is what all caches of a searcher may keep together.
type budget struct {
	max  int64
	used atomic.Int64
}

// take reserves n bytes and reports whether they are available.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.max {
		b.used.Add(-n)
		return false
	}
	return true
}

type shard struct {
	mu      sync.RWMutex
	texts   map[uint32][]byte
	cleared bool
}

// maxCached is the largest file that is kept.
const maxCached = 1 << 20

func newCache(b *budget) *cache {
	if b.max <= 0 {
		return nil
	}
	return &cache{budget: b}
}

func (c *cache) shard(f *tree.File) *shard { return &c.shards[f.ID%uint32(len(c.shards))] }

// put keeps a copy of text if there is room and the version is one to be trusted.
func (c *cache) put(f *tree.File, text []byte) {
	if c == nil || f.Unsteady || len(text) > maxCached || !c.budget.take(int64(len(text))) {
		return
	}
	s := c.shard(f)
	s.mu.Lock()
	defer s.mu.Unlock()
	// A version is gone before it is dropped, so what is kept here can still be.
	if _, ok := s.texts[f.ID]; ok || s.cleared || f.Gone() {
		c.budget.used.Add(-int64(len(text)))
		return
	}
	if s.texts == nil {
		s.texts = map[uint32][]byte{}
	}
	s.texts[f.ID] = slices.Clone(text)
}

// drop forgets a version that is no longer in its tree.
func (c *cache) drop(f *tree.File) {
	if c == nil {
		return
	}
	s := c.shard(f)
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.texts[f.ID]; ok {
		c.budget.used.Add(-int64(len(text)))
		delete(s.texts, f.ID)
	}
}

// clear forgets everything, and keeps nothing from then on: a query may still run.
func (c *cache) clear() {
	if c == nil {
		return
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for _, text := range s.texts {
			c.budget.used.Add(-int64(len(text)))
		}
		s.texts, s.cleared = nil, true
		s.mu.Unlock()
	}
}

// get gives the text of this version, which is not to be changed.
func (c *cache) get(f *tree.File) (text []byte, ok bool) {
	if c == nil {
		return nil, false
	}
	s := c.shard(f)
	s.mu.RLock()
	defer s.mu.RUnlock()
	text, ok = s.texts[f.ID]
	return text, ok
}

// wants reports whether put would keep the text of f.
func (c *cache) wants(f *tree.File) bool {
	return c != nil && !f.Unsteady && f.Size <= maxCached && c.budget.used.Load()+f.Size <= c.budget.max
}
