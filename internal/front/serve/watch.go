package serve

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A watch is a session that clients look at: the fold of its journal, and the link to the
// process that leads it, here or elsewhere. It ends some time after the last client left.
type watch struct {
	srv  *Server
	id   string
	ctx  context.Context
	stop context.CancelFunc
	// pokes holds a token when the journal may have grown.
	pokes chan struct{}
	// creation is that of a session that begins here; nil if it was there before.
	creation *creation

	mu        sync.Mutex
	cwd       string // of a session that begins here
	began     time.Time
	path      string         // "" until there is a journal
	fold      *timeline.Fold // of it
	caughtUp  bool           // the fold has been at its end
	users     int
	left      time.Time     // when the last user was gone
	changed   chan struct{} // closed at the next change
	subs      map[*subscriber]bool
	link      *link // nil if nobody leads the session, or cannot be reached
	questions map[string]*question
	asked     int // counts changes of questions
	settled   []Problem
	prompts   []string                     // ids of prompts that were sent
	sent      time.Time                    // when the last of them was
	outcomes  []Outcome                    // of those that this process has led, the latest last
	unsaved   string                       // why the last turn could not be saved, which the journal cannot say; "" if it was
	cleared   bool                         // /clear has led to another session, and its turn has not ended
	tasks     *wire.BackgroundTasksChanged // the last one, for clients that come later
	views     view                         // the part of the timeline that was sent last
	calls     map[string]wire.Message      // how far the calls are that have no result yet, for the same
}

const (
	pollTime   = 250 * time.Millisecond // between looks at a journal that nothing led to
	lingerTime = 20 * time.Second       // that a watch without clients stays
)

// watch returns the watch of a session, which must be released.
func (s *Server) watch(id string) (*watch, error) {
	if w, err := s.join(id, nil); w != nil || err != nil {
		return w, err
	}
	info, err := s.back.Info(s.context, id) // which may take its time
	if errors.Is(err, session.ErrNotFound) {
		err = &Problem{status: http.StatusNotFound, Code: "no_session", Message: "There is no session " + strconv.Quote(id) + "."}
	}
	if err != nil {
		return nil, err
	}
	return s.join(id, &info)
}

// join returns the watch of a session with one more user. If there is none, it begins one
// with what is known of the session, and returns nil if that is nothing.
func (s *Server) join(id string, known *session.Info) (w *watch, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, errEnded
	}
	if w = s.watches[id]; w == nil {
		if known == nil {
			return nil, nil
		}
		if w, err = s.newWatch(id, known.Path); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users++
	return w, nil
}

// errEnded is that of requests at the end.
var errEnded = &Problem{status: http.StatusServiceUnavailable, Code: "ended", Message: "The server is shutting down."}

// newWatch begins a watch; path is "" if there is no journal yet. The server is locked.
func (s *Server) newWatch(id, path string) (*watch, error) {
	w := &watch{
		srv: s, id: id, pokes: make(chan struct{}, 1), changed: make(chan struct{}), subs: map[*subscriber]bool{}, calls: map[string]wire.Message{}, questions: map[string]*question{}, left: time.Now(), began: time.Now(),
	}
	w.ctx, w.stop = context.WithCancel(s.context)
	if err := w.open(path); err != nil {
		return nil, err
	}
	s.watches[id] = w
	s.back.Watch(w.ctx, id, Watcher{Poke: w.poke, Tell: w.deliver, Ask: w.put})
	go w.follow()
	return w, nil
}

// put is [Watcher.Ask].
func (w *watch) put(ctx context.Context, r wire.Request, settle func(any) error) {
	_ = w.question(ctx, r, settle) // what cannot be asked is left to others
}

// open begins to fold the journal, or continues where the list is.
func (w *watch) open(path string) (err error) {
	w.path = path
	if w.fold = w.srv.list.handOver(path); w.fold == nil {
		w.fold, err = timeline.Follow(path)
	}
	return err
}

// release says that a client is done with the watch.
func (w *watch) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users--; w.users == 0 {
		w.left = time.Now()
	}
}

// poke says that the journal may have grown.
func (w *watch) poke() {
	select {
	case w.pokes <- struct{}{}:
	default:
	}
}

// notify tells everyone who waits for a change. The watch is locked.
func (w *watch) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// follow folds what comes until nobody needs it any more.
func (w *watch) follow() {
	defer w.stop()
	look := time.NewTicker(pollTime)
	defer look.Stop()
	for {
		more, err := w.read(w.ctx)
		if err != nil {
			return
		}
		if more {
			continue
		}
		w.connect()
		select {
		case <-w.pokes:
		case <-look.C:
			if w.retire() {
				return
			}
		case <-w.ctx.Done():
			return
		}
	}
}

// read takes in some of what was appended. The backend may take its time, for which ctx is
// and in which the watch is not locked.
func (w *watch) read(ctx context.Context) (bool, error) {
	var gone *Problem
	if err := w.srv.back.Refresh(ctx, w.id); err != nil && (ctx.Err() != nil || errors.As(err, &gone)) {
		return false, err
	}
	path := w.file()
	if path == "" {
		info, err := w.srv.back.Info(ctx, w.id)
		if err != nil || info.Path == "" {
			return false, ctx.Err()
		}
		path = info.Path
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.path == "" {
		if err := w.open(path); err != nil {
			return false, err
		}
	}
	more, err := w.fold.Next(w.ctx)
	if err != nil && w.ctx.Err() != nil {
		return false, err
	}
	if w.caughtUp = w.caughtUp || !more && err == nil; more {
		w.notify()
	}
	return more, nil // a journal that cannot be read now is looked at again
}

// retire ends a watch that nobody uses.
func (w *watch) retire() bool {
	s := w.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users > 0 || time.Since(w.left) < lingerTime || w.link != nil && w.link.run != nil && !w.link.run.idle() {
		return false
	}
	if w.link != nil {
		w.link.end()
	}
	delete(s.watches, w.id)
	return true
}

// connect links the watch to the process that leads the session elsewhere, if there is
// one.
func (w *watch) connect() {
	w.mu.Lock()
	linked, path, at := w.link != nil, w.path, ""
	if w.fold != nil {
		at = string(w.fold.Summary().Position)
	}
	w.mu.Unlock()
	if linked || path == "" {
		return
	}
	conn, err := w.srv.back.Dial(w.ctx, w.id, path)
	if err != nil {
		return
	}
	l := &link{conn: wire.NewConn(conn, &wire.ConnOptions{Handle: w.handle}), pid: conn.PID, led: conn.Led, end: func() { conn.Close() }}
	stop := context.AfterFunc(w.ctx, l.end)
	go func() {
		defer stop()
		_ = l.conn.Run(w.ctx, w.deliver) // how it ends is no matter: it is linked again if it can be
		conn.Close()
		w.unlink(l)
	}()
	var reply wire.ObserveReply
	ctx, cancel := context.WithTimeout(w.ctx, observeTime)
	defer cancel()
	if l.conn.Call(ctx, &wire.Observe{From: at, Name: w.srv.name, Answers: conn.Asks}, &reply) != nil {
		conn.Close()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.link == nil && !l.gone {
		w.link = l
	}
	w.notify()
}

// observeTime is how long a process may take to say that it can be watched.
const observeTime = 5 * time.Second

// A link is the way to the process that leads a session.
type link struct {
	conn *wire.Conn
	pid  int
	run  *run // that this server leads it by; nil elsewhere
	led  bool // as in [Conn]
	end  func()
	gone bool // under the watch's lock
}

// unlink forgets a link that has ended.
func (w *watch) unlink(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.gone = true
	if w.link == l {
		w.link = nil
	}
	w.notify()
	w.poke()
}

// A subscriber is an event stream that shows a session.
type subscriber struct {
	news chan *message // what the journal does not have
	slow chan struct{} // holds a token when news were lost
}

// tell queues a message that is not in the journal. A client that does not read is cut
// off: it can resume.
func (s *subscriber) tell(m *message) {
	select {
	case s.news <- m:
	default:
		select {
		case s.slow <- struct{}{}:
		default:
		}
	}
}

// deliver takes what the process that leads the session says. What the journal has, too,
// is read there.
func (w *watch) deliver(m wire.Message) {
	switch m := m.(type) {
	case *wire.User, *wire.Assistant, *wire.CallStep, *wire.QuestionAsked, *wire.QuestionAnswered, *wire.CompactBoundary, *wire.JournalPosition, *wire.SessionTitleChanged:
		w.poke()
		return
	case *wire.Status:
		if m.PermissionMode != "" {
			w.poke()
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch m := m.(type) {
	case *wire.BackgroundTasksChanged:
		w.tasks = m
	case *wire.ToolProgress:
		if m.State == wire.CallCompleted {
			delete(w.calls, m.ToolUseID)
		} else if m.State != "" {
			w.calls[m.ToolUseID] = m
		}
	case *wire.Result:
		w.keepResult(m)
		w.unsaved = ""
		if m.TerminalReason == string(agent.JournalFailure) {
			w.unsaved = strings.Join(m.Errors, "; ")
		}
		clear(w.calls) // of a turn that has ended; what goes on is a task
	case *wire.CommandLifecycle:
		if _, begun := w.outcome(m.CommandUUID); m.State == "started" && !begun {
			w.keepOutcome(Outcome{UUID: m.CommandUUID, State: OutcomeWaiting})
		} else if m.State == "cancelled" && !begun { // or its result says so
			w.keepOutcome(Outcome{UUID: m.CommandUUID, State: OutcomeCancelled, Reason: "It was cancelled before its turn began."})
		}
	}
	if len(w.subs) == 0 {
		return
	}
	told := newMessage(m)
	for sub := range w.subs {
		sub.tell(told)
	}
}

// keepResult notes the result of the prompts that it names. The watch is locked.
func (w *watch) keepResult(m *wire.Result) {
	raw, _ := wire.Encode(m) // it was decoded, or made here
	for _, prompt := range append([]string{m.UserMessageUUID}, m.UserMessageUUIDs...) {
		if prompt != "" {
			w.keepOutcome(Outcome{UUID: prompt, State: OutcomeDone, Result: bytes.TrimSpace(raw)})
		}
	}
}

// keepOutcome notes what became of a prompt for those who ask later. The oldest are forgotten.
// The watch is locked.
func (w *watch) keepOutcome(o Outcome) {
	w.outcomes = slices.DeleteFunc(w.outcomes, func(old Outcome) bool { return old.UUID == o.UUID })
	w.outcomes = append(w.outcomes, o)
	if len(w.outcomes) > maxRemembered {
		w.outcomes = slices.Delete(w.outcomes, 0, 1)
	}
}

// outcome is what is known of a prompt. The watch is locked.
func (w *watch) outcome(prompt string) (Outcome, bool) {
	for _, o := range w.outcomes {
		if o.UUID == prompt {
			return o, true
		}
	}
	return Outcome{}, false
}

// await waits until something holds, which is checked with the watch locked.
func (w *watch) await(ctx context.Context, holds func() bool) error {
	for {
		w.mu.Lock()
		ok, changed := holds(), w.changed
		w.mu.Unlock()
		if ok {
			return nil
		}
		w.poke()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return errEnded
		}
	}
}

// watched returns the watch of the session that a request names, up to date.
func (s *Server) watched(r *http.Request) (*watch, error) {
	w, err := s.watch(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	for {
		more, err := w.read(r.Context())
		if err != nil {
			w.release()
			return nil, err
		}
		if !more {
			return w, nil
		}
		if err := r.Context().Err(); err != nil {
			w.release()
			return nil, err
		}
	}
}
