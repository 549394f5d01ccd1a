package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/sys/handshake"
	"github.com/haftdev/haft/internal/text/redact"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// Options say what is served to whom.
type Options struct {
	// Harness and Talk are what the sessions that this server leads begin with.
	Harness harness.Options
	Talk    harness.TalkOptions
	// Backend has the sessions; nil means those of this machine, which Harness and Talk are
	// for.
	Backend Backend
	// Name is that of this server in journals, where it says who answered; "" chooses one.
	Name string
	// Token is what clients must know.
	Token string
	// Hosts are the names, with or without ports, by which clients may call this server
	// besides those of the loopback. One with https:// before it is that of a proxy which
	// speaks TLS with them.
	Hosts []string
	// Logins are the codes by which browsers log in; nil means that none can.
	Logins *Logins
	// Devices are the paired ones; nil means that none can be paired.
	Devices *Devices
	// Secure says that clients speak TLS with it.
	Secure bool
	// Files are those of the page; nil means none.
	Files fs.FS
	// Export writes a session as one file for a browser; nil means that none can be written.
	Export func(ctx context.Context, id string, out io.Writer) error
	// Patience is how long a client may take to read what it is sent; 0 means ten seconds.
	Patience time.Duration
	// Secrets are values that are never shown, besides what looks like a secret and the
	// token.
	Secrets []string
	// Version is that of the program.
	Version string
	// Log is for what a user who looks for a fault should know; nil means nobody.
	Log io.Writer
}

// program are the options of a conversation that a program leads: what the owner of the server
// has chosen, made narrower by the flags that a resumed session began with, and by those of the
// program.
func (o *Options) program(dir string, said *headless.Options, began *submitted, log io.Writer) (*headless.Options, error) {
	opts := &headless.Options{Harness: o.Harness, Talk: o.Talk}
	if len(began.Args) > 0 {
		kept, err := began.parse(o.Version, log)
		if err != nil {
			return nil, err
		}
		if err := (&start{resume: true}).narrow(opts, kept); err != nil {
			return nil, err
		}
	}
	opts.OwnersAgents = agentsOf(&opts.Harness)
	if err := new(start).narrow(opts, said); err != nil {
		return nil, err
	}
	opts.Harness.Dir, opts.Harness.Typed, opts.Harness.MayBypass = dir, false, false
	t := &opts.Talk
	t.Resume, t.ResumeAt, t.Drops, t.Continue, t.Fork, t.ID = said.Talk.Resume, said.Talk.ResumeAt, said.Talk.Drops, said.Talk.Continue, said.Talk.Fork, said.Talk.ID
	t.MCP.Entries = slices.Concat(t.MCP.Entries, said.Talk.MCP.Entries)
	t.ByProgram, t.Version = said.Talk.ByProgram, o.Version
	opts.AskHost, opts.Partial, opts.Mirror, opts.Guest = said.AskHost && !began.Unattended, said.Partial, said.Mirror, said.Guest
	opts.States, opts.Version = true, o.Version
	if len(began.Args) > 0 || began.Unattended {
		t.States = map[string]any{timeline.StateSubmitted: *began} // a copy has them, too
	}
	return opts, nil
}

// agentsOf are the agents that options choose or define.
func agentsOf(h *harness.Options) (names []string) {
	if h.Agent != "" {
		names = append(names, h.Agent)
	}
	for _, d := range h.Agents {
		names = append(names, d.Name)
	}
	return names
}

// A Server serves sessions.
type Server struct {
	door

	name   string // of this server, for those who watch a session elsewhere
	back   Backend
	epoch  string // of the revisions of timelines
	redact *redact.Redactor
	list   *list
	routes []route

	context context.Context
	stop    context.CancelFunc
	streams chan struct{} // holds a token for each open stream
	// strangers holds one for each request of a client that logs in.
	strangers chan struct{}
	leading   sync.WaitGroup

	mu      sync.Mutex
	watches map[string]*watch
	ended   bool
}

// How many event streams may be open, and how many requests of clients that log in.
const (
	maxStreams   = 1024
	maxStrangers = 64
)

// New returns a server. Serve has to be called once.
func New(o *Options) *Server {
	s := &Server{door: door{opts: *o}, name: cmp.Or(o.Name, fmt.Sprintf("haft serve (process %d)", os.Getpid())), back: o.Backend, epoch: rand.Text()[:8], watches: map[string]*watch{}, streams: make(chan struct{}, maxStreams), strangers: make(chan struct{}, maxStrangers)}
	if s.opts.Log == nil {
		s.opts.Log = io.Discard
	}
	if s.opts.Patience == 0 {
		s.opts.Patience = 10 * time.Second
	}
	if s.back == nil {
		store := o.Talk.Sessions
		if store == nil {
			store = session.Open("")
		}
		s.back = &local{s, store}
	}
	s.shake = handshake.NewServer(o.Token)
	s.redact = redact.New(append([]string{o.Token}, o.Secrets...))
	s.list = &list{srv: s, known: map[string]*known{}}
	s.routes = s.table()
	return s
}

// Serve serves at the listeners, which it closes, until ctx ends. Then it ends the
// sessions that it leads.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	s.context, s.stop = context.WithCancel(ctx)
	defer s.stop()
	_, s.port, _ = net.SplitHostPort(listeners[0].Addr().String()) // a listener knows its port
	s.hosts = allowedHosts(s.port, s.opts.Hosts, s.opts.Secure)
	srv := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: log.New(s.opts.Log, "haft serve: ", 0), BaseContext: func(net.Listener) context.Context { return s.context },
	}
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { ended <- srv.Serve(l) }()
	}
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.stop() // streams and sessions end
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_ = srv.Shutdown(wait) // who does not read is cut off
	srv.Close()
	s.leading.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// handler is everything, behind the checks that hold for every request.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes {
		mux.HandleFunc(r.method+" /v1"+r.path, s.limited(r))
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &Problem{status: http.StatusNotFound, Code: "not_found", Message: "There is no " + r.Method + " " + r.URL.Path + ". See /v1/openapi.json for the list."})
	})
	mux.HandleFunc("/", s.page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitBody(w, r, strangerTime)
		w = redacted{w, s.redact}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if p := s.foreign(r); p != nil {
			turnAway(w, p)
			return
		}
		switch {
		case !strings.HasPrefix(r.URL.Path, "/v1/"):
		case slices.Contains(open, r.URL.Path):
			select {
			case s.strangers <- struct{}{}:
				defer func() { <-s.strangers }()
			default:
				turnAway(w, &Problem{status: http.StatusServiceUnavailable, Code: "busy", Message: "Too many clients are logging in. Try again in a few seconds."})
				return
			}
		default:
			known, p := s.known(r)
			if p != nil {
				turnAway(w, p)
				return
			}
			r = known
			limitBody(w, r, bodyTime)
		}
		mux.ServeHTTP(w, r)
	})
}

// stream streams events until the client leaves.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, id string, rows map[string]Session) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		refuse(w, &Problem{status: http.StatusServiceUnavailable, Code: "too_many_streams", Message: "Too many event streams are open. Close one and try again."})
		return
	}
	st := &stream{srv: s, out: w, ctl: http.NewResponseController(w), r: r, rows: rows, folded: -1, asked: -1}
	if id != "" {
		if err := st.join(id); err != nil {
			refuse(w, problem(err))
			return
		}
		defer st.leave()
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	fmt.Fprintf(&st.text, "retry: 1000\n\n")
	st.run()
}

// findQuestion returns where a question is, for links that name nothing else.
func (s *Server) findQuestion(r *http.Request) (QuestionPlace, error) {
	id := r.PathValue("question")
	if !sessionID.Get().MatchString(id) {
		return QuestionPlace{}, errNoQuestion
	}
	for _, w := range s.allWatches() {
		if at, ok := w.place(id); ok {
			return at, nil
		}
	}
	infos, err := s.back.List(r.Context(), &session.ListOptions{Limit: usualList})
	if err != nil {
		return QuestionPlace{}, err
	}
	for _, info := range infos {
		if !mentions(r.Context(), info.Path, []byte(id)) {
			continue
		}
		r.SetPathValue("id", info.ID)
		w, err := s.watched(r)
		if r.Context().Err() != nil {
			return QuestionPlace{}, r.Context().Err()
		}
		if err != nil {
			continue // it is gone, or cannot be read; another one may have the question
		}
		at, ok := w.place(id)
		if w.release(); ok {
			return at, nil
		}
	}
	return QuestionPlace{}, errNoQuestion
}

// allWatches are the sessions that clients look at.
func (s *Server) allWatches() []*watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*watch, 0, len(s.watches))
	for _, w := range s.watches {
		list = append(list, w)
	}
	return list
}

// table is every operation. What a file does is listed in that file.
func (s *Server) table() []route {
	return slices.Concat(s.sessionRoutes(), s.questionRoutes(), s.timelineRoutes(), s.fileRoutes(), s.inputRoutes(), s.searchRoutes(), s.pairRoutes(), s.loginRoutes(), []route{
		{"GET", "/wire", "Run a conversation from a program over this connection; see haft.Remote", nil, http.StatusSwitchingProtocols, nil, nil, s.speak},
		{"GET", "/openapi.json", "This document", nil, http.StatusOK, nil, nil, s.openAPI},
	})
}

// lead begins to lead a session, and returns when it can be spoken to.
func (s *Server) lead(ctx context.Context, w *watch, b start) error {
	opts, err := b.options(&s.opts)
	if err != nil {
		return err
	}
	opts.Talk.Here = s.name
	ours, theirs := wire.Pipe()
	r := &run{srv: s, watch: w, done: make(chan struct{}), id: b.id, since: time.Now()}
	r.link = &link{conn: wire.NewConn(ours, &wire.ConnOptions{Handle: r.handle}), pid: os.Getpid(), run: r}
	opts.Watch = func(ev agent.Event) error {
		if done, ok := ev.(drive.CommandDone); ok {
			r.deliver(headless.CommandAnswer(r.current().id, done)) // its result is for the program that asked
		}
		return nil
	}
	r.link.end = func() { _ = ours.CloseWrite() } // it ends what runs and says its last words
	if err := s.admit(w, r.link); err != nil {
		return err
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		_ = r.link.conn.Run(s.context, r.deliver) // it ends with the session
	}()
	go func() {
		defer s.leading.Done()
		headless.Serve(s.context, theirs, opts)
		r.link.end()
		_ = theirs.CloseWrite() // nothing more is said or heard
		<-heard
		r.current().unlink(r.link)
		r.forgetLeft()
		close(r.done)
	}()
	if err := r.link.conn.Call(ctx, &wire.Initialize{}, nil); err != nil {
		r.link.end()
		<-r.done
		return r.failure(err)
	}
	return nil
}

// admit makes a link the watch's own, if nobody leads the session yet.
func (s *Server) admit(w *watch, l *link) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errEnded
	}
	runs := 0
	for _, other := range s.watches {
		other.mu.Lock()
		if other.link != nil && other.link.run != nil {
			runs++
		}
		other.mu.Unlock()
	}
	if runs >= maxRuns {
		return &Problem{status: http.StatusTooManyRequests, Code: "too_many_sessions", Message: "Too many sessions are running in this server. Close one first."}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.link != nil {
		return errLed
	}
	w.link = l
	w.notify()
	s.leading.Add(1)
	return nil
}

// redacted takes secrets out of replies. Each is written as one JSON value; files of the
// page have no secrets, and streams of events take them out themselves.
type redacted struct {
	http.ResponseWriter
	redact *redact.Redactor
}

// Write writes a reply, or a piece of something else.
func (r redacted) Write(raw []byte) (int, error) {
	if kind := r.Header().Get("Content-Type"); kind != "application/json" && kind != "application/problem+json" {
		return r.ResponseWriter.Write(raw)
	}
	_, err := r.ResponseWriter.Write(r.redact.JSON(raw))
	return len(raw), err
}

// shownWhole reports whether secrets stay in a reply or event. They do in the credential of who
// logs in, and in questions: nobody
// can decide about what is hidden, and what is hidden would come back in the answer, where
// it is a rule with wildcards.
func shownWhole(v any) bool {
	switch v.(type) {
	case Questions, Credential:
		return true
	}
	return false
}

// Unwrap is for [http.ResponseController].
func (r redacted) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// endTime is how long answers that are on their way may take at the end.
const endTime = time.Second

// allowedHosts are the values of the Host header that are answered, with the scheme by which
// clients call each.
func allowedHosts(port string, more []string, secure bool) map[string]string {
	hosts := map[string]string{}
	for _, name := range append([]string{"127.0.0.1", "localhost", "::1"}, more...) {
		u, err := url.Parse(Address(name, port, secure))
		if err != nil {
			continue // what is no name is not called by it
		}
		hosts[strings.ToLower(u.Host)] = u.Scheme + "://"
		if !strings.Contains(name, "://") {
			hosts[strings.ToLower(name)] = u.Scheme + "://" // behind the usual port
		}
	}
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		delete(hosts, name)
	}
	return hosts
}
