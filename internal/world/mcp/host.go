package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// A Host holds the servers of a session.
type Host struct {
	opts    Options
	cache   cache
	own     *shellrun.Host // the runner that the host made itself, or nil
	ownHTTP bool           // the HTTP transport is the host's own
	news    chan struct{}
	stop    chan struct{}
	told    sync.WaitGroup
	runs    sync.WaitGroup // supervisors, also of servers that were removed

	mu     sync.Mutex
	peers  any               // peers
	keys   map[string]string // of all servers that ever were: a name stays one server's
	roots  []string
	closed bool
}

// NewHost makes a Host. Nothing is started before Start.
func NewHost(opts *Options) *Host {
	h := &Host{peers: peers{}, keys: map[string]string{}, news: make(chan struct{}, 1), stop: make(chan struct{})}
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
		o.HTTP, h.ownHTTP = newTransport(), true
	}
	if o.Runner == nil {
		h.own = shellrun.NewHost(nil)
		o.Runner = h.own.Runner()
	}
	h.cache, h.roots = cache{o.CacheDir, o.Dir}, slices.Clone(o.Roots)
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

// Wait returns when no server is still connecting, or when ctx is cancelled.
func (h *Host) Wait(ctx context.Context) error {
	for _, p := range peersOf(h) {
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// WaitFor is Wait for one server.
func (h *Host) WaitFor(ctx context.Context, server string) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	return p.wait(ctx)
}

func (p *peer) wait(ctx context.Context) error {
	p.mu.Lock()
	settled := p.settled
	p.mu.Unlock()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WaitForTools is like Wait, but does not wait for servers whose tools are known from an
// earlier connection: these tools are offered at once, and the first call waits for the
// server.
func (h *Host) WaitForTools(ctx context.Context) error {
	for _, p := range peersOf(h) {
		p.recalled()
		p.mu.Lock()
		settled, known := p.settled, len(p.known.offers) > 0
		p.mu.Unlock()
		if known {
			continue
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close ends all servers and waits until they have ended.
func (h *Host) Close() error {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	h.mu.Unlock()
	if closed {
		return nil
	}
	for _, p := range peersOf(h) {
		p.cancel()
	}
	h.runs.Wait()
	close(h.stop)
	h.told.Wait()
	if idle, ok := h.opts.HTTP.(interface{ CloseIdleConnections() }); ok && h.ownHTTP {
		idle.CloseIdleConnections()
	}
	if h.own != nil {
		return h.own.Close()
	}
	return nil
}

// Status returns the state of all servers, sorted by name.
func (h *Host) Status() []Status {
	var all []Status
	for _, p := range peersOf(h) {
		all = append(all, p.status())
	}
	return all
}

func (p *peer) status() Status {
	p.recalled()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{
		Name: p.name, Prefix: toolPrefix(p.key), State: p.state, Unapproved: p.state == Pending && !p.connecting, Error: p.problem, Config: p.cfg.masked(), Type: p.cfg.kind(),
		Scope: p.cfg.Scope, Source: p.cfg.Scope, Info: p.known.info, Protocol: p.known.protocol, Instructions: p.known.instructions,
		Steps: append([]string(nil), p.steps...), Stderr: p.stderr, Noise: p.noise, LastNoise: p.lastNoise, Restarts: p.restarts,
	}
	for _, o := range p.known.offers {
		s.Tools = append(s.Tools, o.status())
	}
	s.Tools = append(s.Tools, p.known.left...)
	if p.session != nil {
		s.Stderr, s.PID = p.session.link.Stderr(), p.session.link.PID()
		noise, last := p.session.gate.Skipped()
		s.Noise += noise
		if last != "" {
			s.LastNoise = last
		}
	}
	return s
}

// Tools returns the tools of all servers that are or have been connected, by
// server and name. Servers that are switched off have none.
func (h *Host) Tools() []tool.Tool {
	var all []tool.Tool
	for _, p := range peersOf(h) {
		p.mu.Lock()
		hidden := p.state == Disabled
		p.mu.Unlock()
		if !hidden {
			all = append(all, p.tools()...)
		}
	}
	return all
}

// tools returns the server's tools. They name the server and not a connection,
// so that they stay good when the connection is made again.
func (p *peer) tools() []tool.Tool {
	p.recalled()
	p.mu.Lock()
	offers := p.known.offers
	p.mu.Unlock()
	tools := make([]tool.Tool, 0, len(offers))
	for _, o := range offers {
		tools = append(tools, p.tool(o))
	}
	return tools
}

// Call calls a tool by its server's name for it. The call's input is the
// arguments; see [Output] for the result.
func (h *Host) Call(ctx context.Context, server, name string, c *tool.Call) (tool.Result, error) {
	p, err := peerOf(h, server)
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

// Receive handles a message that an in-process server sent unprompted.
func (h *Host) Receive(server string, message json.RawMessage) error {
	p, err := peerOf(h, server)
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
