package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/tool"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

// legacyProtocol and modernProtocol are the newest revisions of the two eras.
const (
	legacyProtocol = "2025-11-25"
	modernProtocol = "2026-07-28"
)

// A session is one connection to a server.
type session struct {
	peer   *peer
	client *sdk.Client
	wire   *sdk.ClientSession
	gate   *gate.Gate
	link   link

	lost   chan struct{}
	losing sync.Once
	cause  error           // valid once lost is closed
	life   context.Context // ends with the session
	die    context.CancelFunc

	expiry *time.Timer // of the list of tools, guarded by the peer's lock; nil if it has none

	lastToken atomic.Int64
	watchers  sync.Map // progress token → func(tool.MCPProgress)
}

// A link is what a session stands on.
type link interface {
	sdk.Transport
	// Close ends the link and, if it has one, the process behind it.
	Close() error
	Stderr() []string
	PID() int
}

// newSession prepares a session; open makes the connection.
func newSession(p *peer, l link, g *gate.Gate) *session {
	s := &session{peer: p, link: l, gate: g, lost: make(chan struct{})}
	s.life, s.die = context.WithCancel(context.Background())
	g.Progress = s.progressed
	opts := &p.host.opts
	s.client = sdk.NewClient(&sdk.Implementation{Name: opts.Name, Version: opts.Version}, s.options())
	if err := extensionMethods(s.client); err != nil {
		panic(err.Error()) // the library has made a method of ours its own
	}
	s.client.AddRoots(roots(p.host.rootDirs())...)
	return s
}

// extensionMethods tells the library which methods it may send.
func extensionMethods(c *sdk.Client) error {
	return errors.Join(
		sdk.AddSendingCustomMethod[*skillsParams, *rawResult](c, "skills/list"),
		sdk.AddSendingCustomMethod[*taskParams, *taskState](c, "tasks/get"),
		sdk.AddSendingCustomMethod[*taskParams, *rawResult](c, "tasks/result"),
		sdk.AddSendingCustomMethod[*taskParams, *rawResult](c, "tasks/cancel"),
		sdk.AddSendingCustomMethod[*taskAnswers, *rawResult](c, "tasks/update"),
	)
}

func (s *session) options() *sdk.ClientOptions {
	opts, p := &s.peer.host.opts, s.peer
	caps := &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{ListChanged: true}}
	o := &sdk.ClientOptions{
		Capabilities:               caps,
		Logger:                     slog.New(slog.DiscardHandler),
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { p.stale(staleTools) },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { p.stale(stalePrompts) },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { p.stale(staleResources) },
		ResourceUpdatedHandler:     func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { s.updated(r) },
	}
	caps.AddExtension(tasksExtension, nil)
	caps.AddExtension(skillsExtension, nil)
	if opts.Elicit != nil {
		caps.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
		o.ElicitationHandler = func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return s.elicit(ctx, r.Params)
		}
	}
	if opts.Sampling != nil {
		o.CreateMessageWithToolsHandler = func(ctx context.Context, r *sdk.CreateMessageWithToolsRequest) (*sdk.CreateMessageWithToolsResult, error) {
			return s.sample(ctx, r.Params)
		}
	}
	return o
}

// open connects in the given era; an empty protocol means that the server is
// asked. It returns when ctx ends, whatever the server does.
func (s *session) open(ctx context.Context, protocol string) error {
	type result struct {
		wire *sdk.ClientSession
		err  error
	}
	done := make(chan result, 1)
	go func() {
		wire, err := s.client.Connect(ctx, s.link, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
		done <- result{wire, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return r.err
		}
		s.wire = r.wire
		go func() {
			err := r.wire.Wait()
			if err == nil {
				err = errors.New("the connection has ended")
			}
			s.lose(err)
		}()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.lost:
		return s.cause
	}
}

// lose ends the session for a reason; the first one counts.
func (s *session) lose(cause error) {
	s.losing.Do(func() {
		s.cause = cause
		close(s.lost)
		s.die()
	})
}

func (s *session) isLost() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

var errSessionClosed = errors.New("the connection was closed")

// close ends the session and what it stands on.
func (s *session) close() {
	s.lose(errSessionClosed)
	s.expire(0)
	s.link.Close()
	if s.wire != nil {
		go s.wire.Close() // it waits for handlers, which may wait for a user
	}
}

// within ties ctx to the session: it ends when the session does, with its cause.
func (s *session) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(&lostError{s.cause}) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// A lostError is the end of a session during a request.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

func (s *session) modern() bool {
	return s.wire.InitializeResult().ProtocolVersion >= modernProtocol
}

func (s *session) progressed(params json.RawMessage) {
	var p tool.MCPProgress
	if json.Unmarshal(params, &p) != nil {
		return
	}
	p.Server = s.peer.name
	// Some servers send the token back as text.
	token, err := strconv.ParseInt(strings.Trim(string(envelope.Field(params, "progressToken")), `"`), 10, 64)
	if f, ok := s.watchers.Load(token); ok && err == nil {
		f.(func(tool.MCPProgress))(p)
	}
}

func (s *session) updated(r *sdk.ResourceUpdatedNotificationRequest) {
	if f := s.peer.host.opts.OnUpdate; f != nil && r.Params != nil {
		f(s.peer.name, r.Params.URI)
	}
}
