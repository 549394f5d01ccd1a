package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/mcp/stdio"
	"github.com/haftdev/haft/tool"
)

// A peer is one server under supervision: one goroutine connects to it and
// connects again. What is known about the server outlives its connections.
type peer struct {
	lent

	kicked chan struct{} // has room for one kick
	// recalled returns once the tools of last time are there, so that the first
	// prompt has them. Starting servers does not wait for it.
	recalled func()

	enabled    bool
	connecting bool
	settled    chan struct{} // closed when connecting is over
	state      State
	problem    string
	session    *session
	known      catalogue
	steps      []string
	restarts   int
	drops      []time.Time // when connections were lost, the last minute's
	tries      int         // that failed since the last connection
	stderr     []string    // of the session before
	noise      int
	lastNoise  string
	dirty      staleness
	bursts     int // counts notes of change
	refreshing bool
	subscribed []string // resources whose changes are wanted
}

// run supervises until the peer is cancelled.
func (p *peer) run() {
	p.recalled()
	for p.ctx.Err() == nil {
		if !p.mayRun() {
			p.await(0)
			continue
		}
		p.begin()
		select {
		case <-p.kicked: // someone asked for what happens now
		default:
		}
		ctx, cancel := context.WithTimeoutCause(p.ctx, p.startTimeout(), fmt.Errorf("no connection within %s", p.startTimeout()))
		s, err := p.connect(ctx)
		if err == nil {
			err = p.learn(ctx, s)
		}
		cancel()
		if err != nil {
			p.await(p.failed(s, err))
			continue
		}
		p.connected(s)
		p.serve(s)
	}
	p.settle(Disabled, "the host is closed")
}

// connect makes a connection in whichever era the server speaks. On an error
// the session, if there is one, is for the caller to close.
func (p *peer) connect(ctx context.Context) (*session, error) {
	switch kind := p.cfg.kind(); kind {
	case Stdio:
		return p.connectStdio(ctx)
	case HTTP:
		return p.connectHTTP(ctx)
	case SSE:
		return p.connectSSE(ctx)
	case SDK:
		return p.connectSDK(ctx)
	default:
		return nil, fmt.Errorf("unknown type %q: use stdio, http or sse", kind)
	}
}

// serve waits until the session is over, one way or the other.
func (p *peer) serve(s *session) {
	lost := false
	select {
	case <-s.lost:
		lost = true
		p.dropped(s)
	case <-p.kicked:
		p.release(s)
	case <-p.ctx.Done():
		p.release(s)
	}
	s.close()
	p.host.changed()
	if !lost || !p.crashing() {
		return
	}
	p.settle(Failed, fmt.Sprintf("the connection was lost %d times within a minute: %s", maxDrops, p.why()))
	p.await(time.Minute)
}

// maxDrops is how often within a minute a connection is made again.
const maxDrops = 3

// crashing reports whether the server ends too often to be started again by
// itself.
func (p *peer) crashing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashingLocked()
}

func (p *peer) crashingLocked() bool {
	p.drops = slices.DeleteFunc(p.drops, func(t time.Time) bool { return time.Since(t) > time.Minute })
	return len(p.drops) >= maxDrops
}

// await waits for a kick, or for a time if that is not zero.
func (p *peer) await(pause time.Duration) {
	var alarm <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-p.kicked:
	case <-alarm:
	case <-p.ctx.Done():
	}
}

// kick makes the supervisor connect now. A connection that is there is ended.
func (p *peer) kick() {
	select {
	case p.kicked <- struct{}{}:
	default:
	}
}

// mayRun asks whether the server may be started, and says so if not.
func (p *peer) mayRun() bool {
	p.mu.Lock()
	enabled := p.enabled
	p.mu.Unlock()
	switch {
	case !enabled:
		p.settle(Disabled, "")
	case p.cfg.Problem != "":
		p.settle(Failed, p.cfg.Problem)
	default:
		v := p.host.approve(p.cfg)
		if v.Allowed {
			return true
		}
		state := Failed
		if v.Pending {
			state = Pending
		}
		p.settle(state, v.Reason)
	}
	return false
}

// begin notes that a connection is on its way.
func (p *peer) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.connecting {
		p.connecting, p.settled = true, make(chan struct{})
	}
	if p.state != Failed || p.known.once { // a server that was never there is not on its way forever
		p.state = Pending
	}
	p.steps = nil
}

// settle notes that no connection is on its way any more.
func (p *peer) settle(state State, problem string) {
	p.mu.Lock()
	p.state, p.problem = state, problem
	if p.connecting {
		p.connecting = false
		close(p.settled)
	}
	p.mu.Unlock()
	p.host.changed()
}

func (p *peer) step(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.mu.Lock()
	p.steps = append(p.steps, text)
	p.mu.Unlock()
	p.host.opts.Log.Debug("mcp", "server", p.name, "step", text)
}

func (p *peer) connected(s *session) {
	p.mu.Lock()
	p.session = s
	if p.known.once {
		p.restarts++
	}
	p.known.once, p.tries = true, 0
	lost := p.subscribed
	p.subscribed = nil
	p.mu.Unlock()
	p.settle(Connected, "")
	if len(lost) > 0 {
		go p.resubscribe(lost)
	}
}

// failed notes why there is no connection and returns when to try again; 0
// means when someone asks.
func (p *peer) failed(s *session, err error) time.Duration {
	if s != nil {
		p.remember(s)
		s.close()
	}
	state := Failed
	if errors.Is(err, ErrNeedsAuth) {
		state = NeedsAuth
	}
	p.settle(state, err.Error())
	p.mu.Lock()
	defer p.mu.Unlock()
	if !transient(err) && !p.known.once || state == NeedsAuth {
		return 0
	}
	if p.tries++; p.tries <= maxTries {
		return time.Second << (p.tries - 1)
	}
	return 0
}

// transient reports whether trying again later may help by itself.
func transient(err error) bool {
	var status *statusError
	var dial *net.OpError
	switch {
	case errors.As(err, &status):
		return status.code >= 500 || status.code == http.StatusTooManyRequests
	case errors.As(err, &dial):
		return dial.Op == "dial"
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// maxTries is how often a connection is tried before someone has to ask for it.
const maxTries = 6

func (p *peer) dropped(s *session) {
	p.mu.Lock()
	p.drops = append(p.drops, time.Now())
	p.problem = s.cause.Error()
	p.mu.Unlock()
	p.host.opts.Log.Warn("mcp: connection lost", "server", p.name, "cause", s.cause)
	p.release(s)
}

// release takes the session away from those who would use it.
func (p *peer) release(s *session) {
	p.remember(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session = nil
	p.state = Pending
	p.connecting, p.settled = true, make(chan struct{})
}

// remember keeps what a session said besides the protocol.
func (p *peer) remember(s *session) {
	noise, last := s.gate.Skipped()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stderr = s.link.Stderr()
	p.noise += noise
	if last != "" {
		p.lastNoise = last
	}
}

func (p *peer) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

// acquire returns the session, waiting for one that is on its way, and asking
// for one if none is.
func (p *peer) acquire(ctx context.Context) (*session, error) {
	timeout := time.NewTimer(p.startTimeout())
	defer timeout.Stop()
	for asked := false; ; {
		p.mu.Lock()
		s, settled, state := p.session, p.settled, p.state
		if s == nil && !p.connecting && !asked && state != Disabled && !(p.cfg.kind() == Stdio && p.crashingLocked()) {
			p.connecting, p.settled = true, make(chan struct{})
			settled, asked = p.settled, true
			p.kick()
		}
		waiting := p.connecting
		p.mu.Unlock()
		switch {
		case s != nil && s.isLost():
			if p.awaitLoss(ctx, s); ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		case s != nil:
			return s, nil
		case !waiting:
			return nil, p.absence(state)
		}
		select {
		case <-settled:
		case <-timeout.C:
			return nil, fmt.Errorf("server %s is still connecting after %s", p.name, p.startTimeout())
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// absence says why there is no session.
func (p *peer) absence(state State) error {
	switch state {
	case Disabled:
		return fmt.Errorf("server %s is disabled", p.name)
	case NeedsAuth:
		return fmt.Errorf("server %s is not connected: %w. Run: haft mcp login %s", p.name, ErrNeedsAuth, p.name)
	}
	return fmt.Errorf("server %s is not connected: %s", p.name, p.why())
}

// call calls a tool. A call that the server did not get, because its session
// was gone, is sent once more if the tool may be repeated; nothing else is.
func (p *peer) call(ctx context.Context, o *offer, c *tool.Call) (tool.Result, error) {
	for again := false; ; again = true {
		s, err := p.acquire(ctx)
		if err != nil {
			return tool.Result{}, forModel(ctx, err)
		}
		result, err := p.attempt(ctx, s, o, c)
		if err == nil {
			return result, nil
		}
		if !errors.Is(err, sdk.ErrSessionMissing) && !errors.Is(err, sdk.ErrConnectionClosed) {
			return tool.Result{}, p.explain(ctx, o, err)
		}
		s.lose(err)
		if again || !o.repeatable() {
			return tool.Result{}, tool.Errorf("MCP server %s lost the session during the call to %s. It is unknown whether the call took effect; check before you repeat it.", p.name, o.Name)
		}
		p.awaitLoss(ctx, s)
	}
}

// awaitLoss waits until the supervisor has taken a lost session away.
func (p *peer) awaitLoss(ctx context.Context, s *session) {
	for ctx.Err() == nil {
		p.mu.Lock()
		same := p.session == s
		p.mu.Unlock()
		if !same {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// learn asks a new session for what a host needs to know at once.
func (p *peer) learn(ctx context.Context, s *session) error {
	res := s.wire.InitializeResult()
	known := catalogue{protocol: res.ProtocolVersion, caps: res.Capabilities}
	known.instructions, _ = clean(res.Instructions)
	if res.ServerInfo != nil {
		known.info = &Info{Name: res.ServerInfo.Name, Title: res.ServerInfo.Title, Version: res.ServerInfo.Version}
	}
	entries, err := s.listTools(ctx)
	if err != nil {
		p.step("tools/list: %v", err)
		return fmt.Errorf("could not list the tools: %w", err)
	}
	known.offers, known.left = p.offer(entries)
	p.mu.Lock()
	known.compare(p.known.offers)
	known.once, known.prompts = p.known.once, p.known.prompts
	p.known = known
	p.mu.Unlock()
	setTools(p.host.cache, p.cfg, known, entries)
	if known.caps == nil || known.caps.Prompts != nil {
		p.stale(stalePrompts)
	}
	return nil
}

// connectStdio starts the process, and once more if the question for its era
// killed it, or if it knows the newer era only and was slow to say so.
func (p *peer) connectStdio(ctx context.Context) (*session, error) {
	protocol, patience := p.cachedProtocol(), p.host.opts.ProbeTimeout
	s, err := p.startProcess(ctx, protocol, patience)
	var refused *jsonrpc.Error
	if protocol != "" && errors.As(err, &refused) && ctx.Err() == nil {
		p.step("the server no longer uses its earlier protocol version; asking it")
		p.host.cache.forget(p.cfg)
		s.close()
		protocol = ""
		s, err = p.startProcess(ctx, protocol, patience)
	}
	if err == nil || s == nil || protocol != "" || ctx.Err() != nil {
		return s, err
	}
	var exited *stdio.ExitError
	switch conn := s.link.(processLink); {
	case errors.As(err, &exited):
		p.step("the server exited when asked for its protocol version; restarting it")
		protocol = legacyProtocol
	case conn.HandshakeTimedOut():
		p.step("the server may have been slow to report its protocol version; asking again")
		patience = p.startTimeout()
	default:
		return s, err
	}
	s.close()
	return p.startProcess(ctx, protocol, patience)
}

func (p *peer) startProcess(ctx context.Context, protocol string, patience time.Duration) (*session, error) {
	cmd, err := p.command()
	if err != nil {
		return nil, err
	}
	opts := &p.host.opts
	g := p.newGate()
	conn, err := stdio.Start(stdio.Options{
		Runner: opts.Runner, Gate: g, Max: opts.MaxMessage, Probe: patience,
		Grace: shutdownGrace, Command: cmd,
	})
	if err != nil {
		return nil, err
	}
	confined := ""
	if cmd.Box != nil {
		confined = ", which can only write in its own folder"
	}
	p.step("started %s as process %d%s", p.cfg.Command, conn.PID(), confined)
	s := newSession(p, processLink{conn}, g)
	go func() {
		if cause := conn.Cause(); cause != stdio.ErrClosed { // the library has a better reason for that
			s.lose(cause)
		}
	}()
	if err = s.open(ctx, protocol); err != nil {
		err = withCause(conn, g.Skipped, err)
		p.step("no session: %v", err)
		return s, err
	}
	p.opened(s)
	return s, nil
}

// withCause prefers the end of a process to what the library makes of it, and
// tells what else is known.
func withCause(conn *stdio.Conn, noise func() (int, string), err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) {
		select {
		case <-conn.Lost():
		case <-time.After(shutdownGrace):
		}
	}
	select {
	case <-conn.Lost():
		if cause := conn.Cause(); cause != stdio.ErrClosed {
			return cause
		}
	default:
	}
	if count, last := noise(); count > 0 {
		err = fmt.Errorf("%w; it wrote %s to standard output that are not messages, the last: %s", err, plural.Of(count, "line"), last)
	}
	if lines := conn.Stderr(); len(lines) > 0 {
		return fmt.Errorf("%w: %s", err, stdio.Excerpt(lines))
	}
	return err
}

// opened notes what was agreed on.
func (p *peer) opened(s *session) {
	protocol := s.wire.InitializeResult().ProtocolVersion
	p.step("connected, protocol %s", protocol)
	p.host.cache.setProtocol(p.cfg, protocol)
}

// cachedProtocol is what to open a session with: empty asks the server.
func (p *peer) cachedProtocol() string {
	if known := p.host.cache.protocol(p.cfg); known != "" && known < modernProtocol {
		p.step("using protocol version %s, as before", known)
		return legacyProtocol
	}
	return ""
}

// connectHTTP tries the streamable transport and, where the server refuses it,
// the older one.
func (p *peer) connectHTTP(ctx context.Context) (*session, error) {
	// Asking costs little here, and the server may be another one by now.
	s, err := p.dial(ctx, false, "", p.host.opts.ProbeTimeout)
	if err != nil && s != nil && s.link.(*httpLink).transport.HandshakeTimedOut() && ctx.Err() == nil {
		p.step("the server may have been slow to report its protocol version; asking again")
		s.close()
		s, err = p.dial(ctx, false, "", p.startTimeout())
	}
	var refused *statusError
	if err == nil || !errors.As(err, &refused) || refused.code < 400 || refused.code >= 500 || ctx.Err() != nil ||
		refused.code == http.StatusUnauthorized || refused.code == http.StatusForbidden {
		return s, err
	}
	p.step("streamable HTTP: %v; trying the older transport", err)
	s.close()
	older, olderErr := p.connectSSE(ctx)
	if olderErr == nil {
		return older, nil
	}
	p.step("SSE: %v", olderErr)
	if older != nil {
		older.close()
	}
	return s, err
}

func (p *peer) connectSSE(ctx context.Context) (*session, error) {
	return p.dial(ctx, true, legacyProtocol, p.host.opts.ProbeTimeout)
}

// dial connects over HTTP.
func (p *peer) dial(ctx context.Context, older bool, protocol string, patience time.Duration) (*session, error) {
	l, g, err := p.newHTTPLink(older, patience)
	if err != nil {
		return nil, err
	}
	s := newSession(p, l, g)
	l.transport.OnLost = s.lose
	if err = s.open(ctx, protocol); err != nil {
		err = l.refusal(err)
		p.step("no session: %v", err)
		return s, err
	}
	p.opened(s)
	return s, nil
}

// connectSDK connects to a server whose messages a function carries. Such a
// server speaks the older era.
func (p *peer) connectSDK(ctx context.Context) (*session, error) {
	if p.host.opts.Send == nil {
		return nil, errors.New("there is no transport for the messages of an in-process server")
	}
	g := p.newGate()
	l := newSDKLink(p.name, p.host.opts.Send, p.cfg.Manifest, g)
	s := newSession(p, l, g)
	if err := s.open(ctx, legacyProtocol); err != nil {
		return s, err
	}
	p.opened(s)
	return s, nil
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

func (p *peer) refresh() {
	for {
		p.debounce()
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

// debounce waits for the end of a burst of announcements.
func (p *peer) debounce() {
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

// claim notes a subscription; false means that there is one already.
func (p *peer) claim(uri string) (fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case slices.Contains(p.subscribed, uri):
		return false, nil
	case len(p.subscribed) >= maxSubscriptions:
		return false, fmt.Errorf("server %s already has %d subscriptions, which is the limit", p.name, maxSubscriptions)
	}
	p.subscribed = append(p.subscribed, uri)
	return true, nil
}

func (p *peer) disclaim(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subscribed = slices.DeleteFunc(slices.Clone(p.subscribed), func(u string) bool { return u == uri })
}

func (p *peer) tool(o *offer) tool.Tool {
	t := tool.Tool{
		Name:       o.name,
		Title:      p.name + " - " + o.title(),
		SearchHint: strings.NewReplacer("_", " ", "-", " ").Replace(p.name + " " + o.title()),
		Describe:   func(*tool.Session) string { return o.description },
		Input:      o.input,
		Output:     nil, // a result may have content beside what the server describes
		Marks:      func(*tool.Call) tool.Marks { return o.marks(p.cfg.Trusted) },
		Run:        func(ctx context.Context, c *tool.Call) (tool.Result, error) { return p.call(ctx, o, c) },
		MaxResult:  o.maxResult(p),
		Source:     "mcp:" + p.name,
		Meta:       o.meta(p),
	}
	var asks bool
	if json.Unmarshal(o.Meta["anthropic/requiresUserInteraction"], &asks); asks {
		t.Permission = func(context.Context, *tool.Call) tool.Verdict {
			return tool.Verdict{Behavior: tool.Ask, NeedsPerson: true, Reason: "the MCP server " + p.name + " requires the user to approve each call to " + o.Name}
		}
	}
	p.attach(o, &t)
	return t
}

// attach gives a tool of the program that drives haft the contract that it declares. What other
// servers declare does not count: they could claim anything about what they do.
func (p *peer) attach(o *offer, t *tool.Tool) {
	var k tool.Contract
	raw, ok := o.Meta["haft/contract"]
	if !ok || p.cfg.kind() != SDK || !p.cfg.Trusted {
		return
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		p.step("tool %s: its contract cannot be read: %v", o.Name, err)
		return
	}
	if k.MaxResult > maxServerResult {
		k.MaxResult = maxServerResult
	}
	k.Attach(t, func(ctx context.Context, part tool.ContractPart, c *tool.Call) (json.RawMessage, error) {
		return p.question(ctx, o, part, c)
	})
}

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

// minFresh is how long a list of tools is good for at least: a server cannot have it
// asked for without end.
const minFresh = 30 * time.Second
