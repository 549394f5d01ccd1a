package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/visible"
)

// Options say how sessions are opened. Harness and Talk are what all of them begin
// with; the client says where and adds its servers.
type Options struct {
	Harness harness.Options
	Talk    harness.TalkOptions
	// Configured says what is missing before a model can be asked; nil means nothing.
	Configured func() error
	// Logout forgets what was set up; nil means that it cannot be forgotten.
	Logout func() error
	// StreamClosed is closed when nobody reads the output any more; nil means that this
	// shows only when something is written.
	StreamClosed <-chan struct{}
	// Log is for what a user who looks for a fault should know; nil means nobody.
	Log io.Writer
	// Version is that of the program.
	Version string
}

// A server is one connection with a client.
type server struct {
	opts    Options
	conn    *conn
	context context.Context // that of the connection
	stop    context.CancelFunc
	table   map[string]method
	listing chan struct{} // holds a token for each list that is being made

	mu       sync.Mutex
	client   *capabilities // nil before initialize
	sessions map[string]*session
	opening  int  // sessions that are being opened
	ended    bool // no more are opened
	working  sync.WaitGroup
}

// maxSessions is how many sessions a connection may have open.
const maxSessions = 64

// maxListing is how many lists of sessions are made at once.
const maxListing = 2

// A method answers a kind of request. An ordered one is answered before the next message
// is read: it is quick, and what follows counts on it. After is done once the client has
// the answer.
type method struct {
	ordered bool
	answer  func(*request) (reply any, after func(), err error)
}

// Serve serves until the client has no more to say, or ctx ends, and everything that its
// sessions have started is ended.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o *Options) error {
	s := &server{opts: *o, conn: newConn(in, out), sessions: make(map[string]*session), listing: make(chan struct{}, maxListing)}
	if s.opts.Log == nil {
		s.opts.Log = io.Discard
	}
	s.context, s.stop = context.WithCancel(ctx)
	defer s.stop()
	s.table = s.methods()
	over := make(chan error, 1)
	go func() { over <- s.conn.read(s.context, s.handle) }()
	var err error
	select {
	case err = <-over:
	case <-s.conn.gone:
	case <-s.opts.StreamClosed:
	case <-ctx.Done():
	}
	s.end()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("could not read the client's messages: %w", err)
	}
	return nil
}

// How long a client may take to read the last messages, and how long the end of a session
// may take.
const (
	answerTime = 1500 * time.Millisecond
	closeTime  = time.Second
)

// end ends all sessions.
func (s *server) end() {
	time.AfterFunc(answerTime, s.conn.close)
	s.mu.Lock()
	s.ended = true
	open := s.sessions
	s.sessions = make(map[string]*session)
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, ses := range open {
		all.Go(ses.close)
	}
	all.Wait()
	s.conn.close()
	s.stop()
	s.working.Wait() // a session that was just being opened is closed by who opened it
}

// methods is the table of requests. Each file registers the methods it implements.
func (s *server) methods() map[string]method {
	table := make(map[string]method)
	for _, part := range []map[string]method{s.setupMethods(), s.openMethods(), s.sessionMethods()} {
		maps.Copy(table, part)
	}
	return table
}

func ordered(answer func(*request) (any, error)) method {
	return method{ordered: true, answer: func(r *request) (any, func(), error) {
		reply, err := answer(r)
		return reply, nil, err
	}}
}

func beside(answer func(*request) (any, error)) method {
	m := ordered(answer)
	m.ordered = false
	return m
}

// handle answers a request. It does not wait for what takes long.
func (s *server) handle(r *request) {
	if r.method != methodInitialize && s.capabilities() == nil {
		r.reply(nil, errorf(codeInvalidRequest, "Send initialize first."))
		return
	}
	switch r.method {
	case methodPrompt:
		s.prompt(r)
		return
	case methodSetMode, methodSetOption:
		s.change(r)
		return
	case methodCancel:
		if ses, err := s.find(r); err == nil {
			ses.interrupt()
		}
		r.cancel()
		return
	}
	m, ok := s.table[r.method]
	switch {
	case !ok && r.id == nil:
		r.cancel() // notifications that are not known mean nothing here
	case !ok:
		r.reply(nil, errorf(codeNoMethod, "There is no method %q.", visible.Indented(r.method)))
	case m.ordered:
		respond(r, m)
	default:
		s.spawn(r, func() { respond(r, m) })
	}
}

// spawn answers a request beside the others, unless the connection has ended.
func (s *server) spawn(r *request, answer func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		r.cancel()
		return
	}
	s.working.Go(answer)
}

func respond(r *request, m method) {
	reply, after, err := m.answer(r)
	r.reply(reply, err)
	if after != nil {
		after()
	}
}

// find returns the session that a request is about.
func (s *server) find(r *request) (*session, error) {
	var p struct {
		Session string `json:"sessionId"`
	}
	if err := r.read(&p); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.sessions[p.Session]; ses != nil {
		return ses, nil
	}
	return nil, errorf(codeNotFound, "No session %q is open here. Open it with session/load or session/resume.", visible.Indented(p.Session))
}

func (s *server) capabilities() *capabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}
