package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/wire"
)

// A run is a session that this server leads: the conversation that a program would have
// over a pipe, with the pipe in memory.
type run struct {
	srv   *Server
	watch *watch
	link  *link
	done  chan struct{} // closed when it has ended

	mu     sync.Mutex
	left   *watch // of the session that /clear left, until its turn has ended
	id     string
	busy   bool
	since  time.Time // that it is not
	errors []string  // of the last result
}

// idleTime is how long a session that nobody looks at stays open after its last turn.
const idleTime = 10 * time.Minute

// maxRuns is how many sessions one server leads at once.
const maxRuns = 64

// errLed says that another request was first; the session can be used.
var errLed = errors.New("the session is already running")

// failure says why a session could not be opened.
func (r *run) failure(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &Problem{status: http.StatusUnprocessableEntity, Code: "not_opened", Message: "Could not open the session: " + err.Error()}
	if len(r.errors) > 0 {
		p.Message = "Could not open the session: " + strings.Join(r.errors, "; ")
	}
	return p
}

// handle passes questions on to those who watch the session.
func (r *run) handle(ctx context.Context, q wire.Request) (any, error) {
	return r.current().handle(ctx, q)
}

func (r *run) current() *watch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watch
}

// deliver takes what the session says.
func (r *run) deliver(m wire.Message) {
	r.mu.Lock()
	switch m := m.(type) {
	case *wire.SessionStateChanged:
		r.busy, r.since = m.State != wire.StateIdle, time.Now()
	case *wire.Result:
		r.errors = m.Errors
	}
	w, left := r.watch, r.left
	r.mu.Unlock()
	w.deliver(m)
	if result, ok := m.(*wire.Result); ok && left != nil {
		left.mu.Lock()
		left.keepResult(result)
		left.mu.Unlock()
		r.forgetLeft()
	}
	if reset, ok := m.(*wire.ConversationReset); ok {
		r.move(reset.NewConversationID)
	}
}

// move follows the conversation into another session, as after /clear.
func (r *run) move(id string) {
	s := r.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	next := s.watches[id]
	if next == nil {
		var err error
		if next, err = s.newWatch(id, ""); err != nil {
			return
		}
	}
	old := r.current()
	old.mu.Lock()
	cwd := old.cwd
	if old.link == r.link {
		old.link, old.cleared = nil, true
	}
	old.notify()
	old.mu.Unlock()
	next.mu.Lock()
	next.link, next.cwd = r.link, cwd
	next.notify()
	next.mu.Unlock()
	r.mu.Lock()
	r.watch, r.left, r.id = next, old, id
	r.mu.Unlock()
}

// forgetLeft says that the session which /clear left has nothing to wait for any more.
func (r *run) forgetLeft() {
	r.mu.Lock()
	left := r.left
	r.left = nil
	r.mu.Unlock()
	if left != nil {
		left.mu.Lock()
		defer left.mu.Unlock()
		left.cleared = false
	}
}

// working reports whether a turn runs.
func (r *run) working() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}

// idle reports whether the run has had nothing to do for a while.
func (r *run) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.busy && time.Since(r.since) > idleTime
}

// linked returns the link of the watch, nil if there is none.
func (w *watch) linked() *link {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.link
}
