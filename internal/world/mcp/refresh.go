package mcp

import (
	"context"
	"slices"
	"strings"
	"time"
)

// staleness is what a server said has changed.
type staleness int

const (
	staleTools staleness = 1 << iota
	stalePrompts
	staleResources
)

const (
	quiet  = 50 * time.Millisecond // without news ends a burst
	tooOld = time.Second           // ends it anyway
)

// stale notes that something has changed. A burst of notes is one refresh.
func (p *peer) stale(what staleness) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirty |= what
	p.bursts++
	if !p.refreshing {
		p.refreshing = true
		go p.refresh()
	}
}

// minFresh is how long a list of tools is good for at least: a server cannot have it
// asked for without end.
const minFresh = 30 * time.Second

func (p *peer) refresh() {
	for {
		p.calm()
		p.mu.Lock()
		settled := p.settled
		p.mu.Unlock()
		select {
		case <-settled:
		case <-p.ctx.Done():
			return
		}
		p.mu.Lock()
		what, s := p.dirty, p.session
		p.dirty = 0
		if what == 0 || s == nil {
			p.refreshing = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		p.fetch(s, what)
		p.host.changed()
	}
}

// calm waits for the end of a burst.
func (p *peer) calm() {
	end := time.Now().Add(tooOld)
	for time.Now().Before(end) {
		p.mu.Lock()
		before := p.bursts
		p.mu.Unlock()
		select {
		case <-time.After(quiet):
		case <-p.ctx.Done():
			return
		}
		p.mu.Lock()
		after := p.bursts
		p.mu.Unlock()
		if before == after {
			return
		}
	}
}

// fetch asks again for what changed. What is not available stays as it was.
func (p *peer) fetch(s *session, what staleness) {
	ctx, cancel := context.WithTimeout(p.ctx, p.startTimeout())
	defer cancel()
	if what&staleTools != 0 {
		entries, err := s.listTools(ctx)
		if err != nil {
			p.host.opts.Log.Warn("mcp: the tool list could not be refreshed", "server", p.name, "cause", err)
		} else {
			offers, left := p.offer(entries)
			p.mu.Lock()
			before := p.known.offers
			p.known.offers, p.known.left = offers, left
			p.known.compare(before)
			known := p.known
			p.mu.Unlock()
			setTools(p.host.cache, p.cfg, known, entries)
		}
	}
	if what&stalePrompts != 0 {
		if prompts, err := p.listPrompts(ctx, s); err == nil {
			p.mu.Lock()
			p.known.prompts = prompts
			p.mu.Unlock()
		}
	}
}

func (p *peer) listPrompts(ctx context.Context, s *session) ([]Prompt, error) {
	ctx, done := s.within(ctx)
	defer done()
	var prompts []Prompt
	var names []string
	for q, err := range s.wire.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(prompts) == maxResources {
			break
		}
		prompt := Prompt{Server: p.name, Name: q.Name}
		prompt.Title, _ = clean(q.Title)
		prompt.Description, _ = clean(q.Description)
		for _, a := range q.Arguments {
			prompt.Arguments = append(prompt.Arguments, PromptArg{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		prompts, names = append(prompts, prompt), append(names, q.Name)
	}
	offered := offeredNames(p.key, names)
	for i := range prompts {
		prompts[i].Command = offered[prompts[i].Name]
	}
	slices.SortFunc(prompts, func(a, b Prompt) int { return strings.Compare(a.Name, b.Name) })
	return prompts, nil
}
