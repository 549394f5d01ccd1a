package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

// A Host holds the servers of a session.
type Host struct {
	opts  Options
	cache cache
	own   *shellrun.Host // the runner that the host made itself, or nil
	news  chan struct{}
	stop  chan struct{}
	told  sync.WaitGroup

	mu     sync.Mutex
	peers  map[string]*peer
	keys   map[string]string // of all servers that ever were: a name stays one server's
	roots  []string
	closed bool
}

// NewHost makes a Host. Nothing is started before Start.
func NewHost(opts *Options) *Host {
	h := &Host{peers: map[string]*peer{}, keys: map[string]string{}, news: make(chan struct{}, 1), stop: make(chan struct{})}
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	o.Name = cmp.Or(o.Name, "haft")
	o.Version = cmp.Or(o.Version, "dev")
	o.StartTimeout = cmp.Or(o.StartTimeout, 30*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 28*time.Hour)
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, 1500*time.Millisecond)
	o.MaxMessage = cmp.Or(o.MaxMessage, 64<<20)
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Dir == "" {
		o.Dir, _ = os.Getwd()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP = newTransport()
	}
	if o.Runner == nil {
		h.own = shellrun.NewHost(&shellrun.Options{Wrap: func(r shellrun.Runner) shellrun.Runner {
			o.Runner = r
			return r
		}})
	}
	h.cache, h.roots = cache{o.CacheDir}, slices.Clone(o.Roots)
	h.told.Go(h.tell)
	return h
}

func newTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32
	return t
}

// Start adds servers and connects to them. It returns at once.
func (h *Host) Start(servers []Server) { h.Set(servers) }

// A Change is what [Host.Set] did.
type Change struct {
	Added   []string          `json:"added"`
	Removed []string          `json:"removed"`
	Errors  map[string]string `json:"errors"`
}

// Set makes servers the ones that the host holds: it starts the new ones, ends
// those that are gone and starts the changed ones again. It does not wait for
// connections, nor for the ends.
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
			c.Errors[s.Name] = "there are two servers of this name"
		default:
			wanted[s.Name] = s
		}
	}
	for name, p := range h.peers {
		if s, stays := wanted[name]; !stays || !sameServer(s, p.cfg) {
			delete(h.peers, name)
			p.cancel()
			if !stays {
				c.Removed = append(c.Removed, name)
			}
		}
	}
	h.assignKeys(slices.Collect(maps.Keys(wanted)))
	for name, s := range wanted {
		if h.peers[name] == nil {
			p := newPeer(h, s, h.keys[name])
			p.recall() // so that the first prompt has the tools it had last time
			h.peers[name] = p
			c.Added = append(c.Added, name)
			go p.run()
		}
	}
	slices.Sort(c.Added)
	slices.Sort(c.Removed)
	h.changed()
	return c
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

func (h *Host) approve(s Server) Verdict {
	if h.opts.Approve == nil {
		return Verdict{Allowed: true}
	}
	return h.opts.Approve(s)
}

// changed has OnChange called, soon and once for many changes.
func (h *Host) changed() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

func (h *Host) tell() {
	for {
		select {
		case <-h.stop:
			return
		case <-h.news:
			if h.opts.OnChange != nil {
				h.opts.OnChange()
			}
		}
	}
}

// Wait returns when no server is on its way any more, or when ctx ends.
func (h *Host) Wait(ctx context.Context) error {
	for _, p := range h.all() {
		p.mu.Lock()
		settled := p.settled
		p.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close ends all servers and waits for it.
func (h *Host) Close() error {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	h.mu.Unlock()
	if closed {
		return nil
	}
	peers := h.all()
	for _, p := range peers {
		p.cancel()
	}
	for _, p := range peers {
		<-p.done
	}
	close(h.stop)
	h.told.Wait()
	if h.own != nil {
		return h.own.Close()
	}
	return nil
}

// all returns the servers by name.
func (h *Host) all() []*peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*peer
	for _, name := range slices.Sorted(maps.Keys(h.peers)) {
		all = append(all, h.peers[name])
	}
	return all
}

func (h *Host) find(server string) (*peer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.peers[server]; p != nil {
		return p, nil
	}
	return nil, UnknownServer(server)
}

// An UnknownServer is the name of a server that the host does not hold.
type UnknownServer string

func (e UnknownServer) Error() string { return "Server not found: " + string(e) }

// Status tells about all servers, by name.
func (h *Host) Status() []Status {
	var all []Status
	for _, p := range h.all() {
		all = append(all, p.status())
	}
	return all
}

// Tools returns the tools of all servers that are or have been connected, by
// server and name. Servers that are switched off have none.
func (h *Host) Tools() []tool.Tool {
	var all []tool.Tool
	for _, p := range h.all() {
		p.mu.Lock()
		hidden := p.state == Disabled
		p.mu.Unlock()
		if !hidden {
			all = append(all, p.tools()...)
		}
	}
	return all
}

// Call calls a tool by its server's name for it. The call's input is the
// arguments; see [Output] for the result.
func (h *Host) Call(ctx context.Context, server, name string, c *tool.Call) (tool.Result, error) {
	p, err := h.find(server)
	if err != nil {
		return tool.Result{}, tool.Errorf("%w", err)
	}
	o := p.offered(name)
	if o == nil { // its tools may not be known yet
		if _, err := p.acquire(ctx); err != nil {
			return tool.Result{}, forModel(ctx, err)
		}
		if o = p.offered(name); o == nil {
			return tool.Result{}, tool.Errorf("MCP server %s has no tool %s", server, name)
		}
	}
	return p.call(ctx, o, c)
}

// offered finds a tool by the server's name for it.
func (p *peer) offered(name string) *offer {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.known.offers, func(o *offer) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return p.known.offers[i]
}

// Reconnect ends the connection to a server and makes it anew, and waits for it.
func (h *Host) Reconnect(ctx context.Context, server string) error {
	p, err := h.find(server)
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
	p, err := h.find(server)
	if err != nil {
		return err
	}
	p.toggle(enabled)
	return nil
}

func (h *Host) rootDirs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.roots)
}

// SetRoots changes the directories that servers are told about.
func (h *Host) SetRoots(dirs []string) {
	h.mu.Lock()
	old := h.roots
	h.roots = slices.Clone(dirs)
	h.mu.Unlock()
	for _, p := range h.all() {
		p.mu.Lock()
		s := p.session
		p.mu.Unlock()
		if s != nil {
			s.setRoots(old, dirs)
		}
	}
}

// Receive takes a message that an in-process server sent by itself.
func (h *Host) Receive(server string, message json.RawMessage) error {
	p, err := h.find(server)
	if err != nil {
		return err
	}
	p.mu.Lock()
	s := p.session
	p.mu.Unlock()
	if s == nil {
		return p.absence(Failed)
	}
	if l, ok := s.link.(*sdkLink); ok {
		l.receive(message)
		return nil
	}
	return UnknownServer(server)
}
