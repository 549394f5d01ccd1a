package mcp

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// A Change is what [Host.Set] did.
type Change struct {
	Added   []string          `json:"added"`
	Removed []string          `json:"removed"`
	Errors  map[string]string `json:"errors"`
}

func newPeer(h *Host, cfg Server, key string) *peer {
	p := &peer{
		lent:    lent{endpoint: endpoint{host: h, name: cfg.Name, key: key, cfg: cfg}},
		enabled: !cfg.Disabled,
		kicked:  make(chan struct{}, 1), settled: make(chan struct{}),
		state: Pending, connecting: true,
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.recalled = sync.OnceFunc(p.recall)
	return p
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
