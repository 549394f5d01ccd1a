package search

import (
	"sync"

	"github.com/haftdev/haft/internal/world/search/rx"
)

// patterns keeps compiled patterns, with the automata they built while running.
// Agents ask the same again and again.
type patterns struct {
	mu    sync.Mutex
	byKey map[patternKey]*rx.Pattern
	keys  []patternKey // oldest first
}

type patternKey struct {
	expr string
	opts rx.Options
}

const maxPatterns = 32

func (p *patterns) compile(expr string, o rx.Options) (*rx.Pattern, error) {
	key := patternKey{expr, o}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.byKey[key]; c != nil {
		return c, nil
	}
	c, err := rx.Compile(expr, &o)
	if err != nil {
		return nil, err
	}
	if p.byKey == nil {
		p.byKey = map[patternKey]*rx.Pattern{}
	}
	if len(p.keys) == maxPatterns {
		delete(p.byKey, p.keys[0])
		p.keys = p.keys[1:]
	}
	p.byKey[key] = c
	p.keys = append(p.keys, key)
	return c, nil
}
