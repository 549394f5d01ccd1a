package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Change is what [Host.Set] did.
type Change struct {
	Added   []string          `json:"added"`
	Removed []string          `json:"removed"`
	Errors  map[string]string `json:"errors"`
}

// Set replaces the servers of the host: it starts new ones, ends those that are no longer
// listed and restarts those that have changed. It does not wait for any of this.
func (h *Host) Set(servers []Server) Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Change{Added: []string{}, Removed: []string{}, Errors: map[string]string{}}
	if h.closed {
		return c
	}
	wanted := make(map[string]Server)
	for _, s := range servers {
		switch _, double := wanted[s.Name]; {
		case strings.TrimSpace(s.Name) == "":
			c.Errors[s.Name] = "a server needs a name"
		case double:
			c.Errors[s.Name] = "there are two servers with this name"
		default:
			wanted[s.Name] = s
		}
	}
	known := h.peers.(peers)
	for name, p := range known {
		if s, stays := wanted[name]; !stays || !sameServer(s, p.cfg) {
			delete(known, name)
			p.cancel()
			if !stays {
				c.Removed = append(c.Removed, name)
			}
		}
	}
	h.assignKeys(slices.Collect(maps.Keys(wanted)))
	for name, s := range wanted {
		if known[name] == nil {
			p := newPeer(h, s, h.keys[name])
			known[name] = p
			c.Added = append(c.Added, name)
			h.runs.Go(p.run)
		}
	}
	slices.Sort(c.Added)
	slices.Sort(c.Removed)
	h.changed()
	return c
}

func newPeer(h *Host, cfg Server, key string) *peer {
	p := &peer{
		host: h, name: cfg.Name, key: key, cfg: cfg, enabled: !cfg.Disabled,
		kicked: make(chan struct{}, 1), settled: make(chan struct{}),
		state: Pending, connecting: true,
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.recalled = sync.OnceFunc(p.recall)
	return p
}

// recall takes the tools that the server had when it was last connected, so
// that they are there before it is.
func (p *peer) recall() {
	old, ok := p.host.cache.get(p.cfg)
	if !ok || len(old.Tools) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.info, p.known.instructions = old.Info, old.Instructions
	p.known.offers, p.known.left = p.offer(old.Tools)
}

// assignKeys gives new servers their keys; those of the others stay.
func (h *Host) assignKeys(names []string) {
	all := serverKeys(append(names, slices.Collect(maps.Keys(h.keys))...))
	taken := make(map[string]bool)
	for _, key := range h.keys {
		taken[key] = true
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if h.keys[name] != "" {
			continue
		}
		key := all[name]
		if taken[key] {
			key += "_" + digest(name)
		}
		h.keys[name], taken[key] = key, true
	}
}

func sameServer(a, b Server) bool {
	ra, errA := json.Marshal(a)
	rb, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(ra) == string(rb) && a.Problem == b.Problem
}

// peers are a host's servers by name. To whoever uses a Host they are nothing but an interface, and what
// finds them is no method: the compiler would compile the generic types of the library, which are behind
// the connections, once more in each of dozens of packages.
type peers map[string]*peer

// peersOf returns the servers of a host by name.
func peersOf(h *Host) []*peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*peer
	known := h.peers.(peers)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		all = append(all, known[name])
	}
	return all
}

func peerOf(h *Host, server string) (*peer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.peers.(peers)[server]; p != nil {
		return p, nil
	}
	return nil, UnknownServer(server)
}

// An UnknownServer is the name of a server that the host does not have.
type UnknownServer string

func (e UnknownServer) Error() string { return "Server not found: " + string(e) }

// Reconnect closes the connection to a server, opens a new one and waits for it.
func (h *Host) Reconnect(ctx context.Context, server string) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	h.cache.forget(p.cfg)
	p.mu.Lock()
	old := p.session
	p.enabled, p.drops = true, nil
	if old == nil && !p.connecting {
		p.connecting, p.settled = true, make(chan struct{})
	}
	p.mu.Unlock()
	p.kick()
	if old != nil {
		p.awaitLoss(ctx, old)
	}
	_, err = p.acquire(ctx)
	return err
}

// Toggle switches a server off, or on again. It does not wait.
func (h *Host) Toggle(server string, enabled bool) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	p.toggle(enabled)
	return nil
}

func (p *peer) toggle(enabled bool) {
	p.mu.Lock()
	changed := p.enabled != enabled
	p.enabled = enabled
	if changed && enabled && !p.connecting {
		p.connecting, p.settled = true, make(chan struct{})
		p.state = Pending
	}
	p.mu.Unlock()
	if changed {
		p.kick()
	}
}
