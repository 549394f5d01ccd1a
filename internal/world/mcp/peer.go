package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A peer is one server under supervision: one goroutine connects to it and
// connects again. What is known about the server outlives its connections.
type peer struct {
	host   *Host
	name   string
	key    string // stands for the server in its tools' names
	cfg    Server
	ctx    context.Context
	cancel context.CancelFunc
	kicked chan struct{} // has room for one kick
	// recalled returns once the tools of last time are there, so that the first
	// prompt has them. Starting servers does not wait for it.
	recalled func()

	mu         sync.Mutex
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
	sampled    int // output tokens that the server asked for
	consented  *bool
	sampling   bool
	nested     int      // calls that are made for a sampling
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

func (p *peer) startTimeout() time.Duration {
	if p.cfg.StartTimeout > 0 {
		return time.Duration(p.cfg.StartTimeout)
	}
	return p.host.opts.StartTimeout
}
