package webpage

import (
	"slices"
	"sync"
	"time"
)

const (
	maxKept      = 100
	maxKeptBytes = 64 << 20
)

// A cache keeps pages for a while, the oldest of them no longer than there is room.
type cache struct {
	mu    sync.Mutex
	pages []kept // oldest first
}

type kept struct {
	address string
	page    *Page
	until   time.Time
}

func (k kept) size() int { return len(k.page.Text) + len(k.page.Data) }

// sweep drops what is too old or too much.
func (c *cache) sweep() {
	now := time.Now()
	c.pages = slices.DeleteFunc(c.pages, func(k kept) bool { return now.After(k.until) })
	total := 0
	for i, k := range slices.Backward(c.pages) {
		if total += k.size(); total > maxKeptBytes || len(c.pages)-i > maxKept {
			c.pages = slices.Delete(c.pages, 0, i+1)
			return
		}
	}
}

func (c *cache) get(address string) *Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	for _, k := range c.pages {
		if k.address == address {
			return k.page
		}
	}
	return nil
}

func (c *cache) put(address string, p *Page, keepFor time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages = slices.DeleteFunc(c.pages, func(k kept) bool { return k.address == address })
	c.pages = append(c.pages, kept{address, p, time.Now().Add(keepFor)})
	c.sweep()
}
