package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A stream is the events of one client.
type stream struct {
	srv  *Server
	out  http.ResponseWriter
	ctl  *http.ResponseController
	r    *http.Request
	text bytes.Buffer // that is not sent yet

	rows map[string]Session // that the client has; nil if it wants no list

	watch    *watch // nil if it wants no session
	sub      *subscriber
	after    session.Position
	follower *session.Follower // nil until there is a journal
	folded   int               // the revision that the client has; -1 if it wants none
	reset    bool              // it must read the timeline again
	asked    int               // what of the questions it has
	row      Session           // that it has
	pieces   gatherer
}

const (
	heartbeat = 15 * time.Second
	listTime  = time.Second // between looks at the list
	waiting   = 2048        // messages that may wait for a slow client
)

// join begins to show a session.
func (st *stream) join(id string) error {
	query := st.r.URL.Query()
	st.after = session.Position(query.Get("after"))
	if last := st.r.Header.Get("Last-Event-ID"); last != "" {
		st.after = session.Position(last)
	}
	if _, err := session.Follow("", st.after); err != nil {
		return invalid("%v.", err)
	}
	w, err := st.srv.watch(id)
	if err != nil {
		return err
	}
	if query.Has("timeline") {
		st.folded, st.reset = st.srv.parseRevision(query.Get("timeline"))
	}
	st.pieces.wanted = query.Has("pieces")
	st.watch, st.sub = w, &subscriber{make(chan *message, waiting), make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subs[st.sub] = true
	if w.link == nil {
		return nil // what was said of it may be over
	}
	if w.tasks != nil {
		st.sub.tell(newMessage(w.tasks))
	}
	for _, m := range w.calls {
		st.sub.tell(newMessage(m))
	}
	return nil
}

// leave ends what shows the session.
func (st *stream) leave() {
	st.watch.mu.Lock()
	delete(st.watch.subs, st.sub)
	st.watch.mu.Unlock()
	st.watch.release()
}

// run sends what there is, and waits for more.
func (st *stream) run() {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	look := time.NewTicker(listTime)
	defer look.Stop()
	if st.rows == nil {
		look.Stop()
	}
	var news chan *message
	st.pieces.due = time.NewTimer(time.Hour)
	defer st.pieces.due.Stop()
	var slow chan struct{}
	if st.watch != nil {
		news, slow = st.sub.news, st.sub.slow
	}
	if st.list() != nil {
		return
	}
	for {
		changed := st.changes()
		if st.session() != nil || st.flush() != nil {
			return
		}
	wait:
		select {
		case m := <-news:
			waits, err := st.pieces.takes(m.piece, st.release)
			if err != nil {
				return
			}
			if waits {
				goto wait
			}
			// What was written before it comes first.
			if st.journal() != nil || st.live(m) != nil {
				return
			}
		case <-st.pieces.due.C:
			if st.release() != nil || st.flush() != nil {
				return
			}
			goto wait
		case <-changed:
		case <-look.C:
			if st.list() != nil {
				return
			}
		case <-beat.C:
			st.text.WriteString(": \n\n")
		case <-slow:
			return
		case <-st.r.Context().Done():
			return
		}
	}
}

// changes is closed at the next change of the session.
func (st *stream) changes() chan struct{} {
	if st.watch == nil {
		return nil
	}
	st.watch.mu.Lock()
	defer st.watch.mu.Unlock()
	return st.watch.changed
}

// live sends what is not in the journal, and all that waits.
func (st *stream) live(m *message) error {
	for {
		waits, err := st.pieces.takes(m.piece, st.release)
		if raw := m.encoded(st.srv.redact); err == nil && !waits && raw != nil {
			err = st.data(raw)
		}
		if err != nil {
			return err
		}
		select {
		case m = <-st.sub.news:
		default:
			return nil
		}
	}
}

// release sends the pieces that were gathered.
func (st *stream) release() error {
	p := st.pieces.piece
	st.pieces.piece = piece{}
	if !p.is {
		return nil
	}
	st.pieces.sent = time.Now()
	return st.event("piece", p)
}

// session sends what changed in the session.
func (st *stream) session() error {
	if st.watch == nil {
		return nil
	}
	// A row that says that the session has ended comes after all that was said, and so do
	// questions: clients tell from it whose turn asks.
	row := st.watch.row()
	questions, view, err := st.collect()
	first := st.row.ID == ""
	if !first && err == nil {
		err = st.said()
	}
	if row != st.row && err == nil {
		st.row = row
		err = st.event("session", row)
	}
	if first && err == nil {
		err = st.said()
	}
	if questions != nil && err == nil {
		err = st.event("questions", *questions)
	}
	if view != nil && err == nil {
		err = st.event("timeline", view)
	}
	return err
}

// collect returns the questions and the part of the folded view that the client does not
// have, nil for none. They are sent later: who holds the watch holds up the turn.
func (st *stream) collect() (questions *Questions, view json.RawMessage, err error) {
	st.watch.mu.Lock()
	defer st.watch.mu.Unlock()
	if st.asked != st.watch.asked {
		st.asked = st.watch.asked
		open := st.watch.openQuestions()
		questions = &open
	}
	view, err = st.timeline()
	return questions, view, err
}

// said sends what the journal has, and what is not in it and waits.
func (st *stream) said() error {
	if err := st.journal(); err != nil {
		return err
	}
	select {
	case m := <-st.sub.news:
		return st.live(m)
	default:
		return nil
	}
}

// timeline is what changed in the folded view, encoded because it may change again. The
// watch is locked.
func (st *stream) timeline() (json.RawMessage, error) {
	v := st.watch.fold
	if st.folded < 0 && !st.reset || v.Revision() <= st.folded {
		return nil, nil
	}
	if st.reset {
		st.folded, st.reset = v.Revision(), false
		t := st.srv.timelineOf(v)
		t.Reset = true
		return json.Marshal(t)
	}
	if kept := &st.watch.views; kept.raw == nil || kept.from != st.folded || kept.to != v.Revision() {
		t := st.srv.timelineOf(v)
		items, turns := v.Since(st.folded)
		t.Items, t.Turns = append(t.Items, items...), append(t.Turns, turns...)
		raw, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		*kept = view{st.folded, v.Revision(), raw}
	}
	st.folded = v.Revision()
	return st.watch.views.raw, nil
}

// A view is what changed in a timeline between two revisions. All who watch want the same.
type view struct {
	from, to int
	raw      json.RawMessage
}

// journal sends what the journal has.
func (st *stream) journal() error {
	if st.watch == nil {
		return nil
	}
	if st.follower == nil {
		st.watch.mu.Lock()
		path := st.watch.path
		st.watch.mu.Unlock()
		if path == "" {
			return nil
		}
		var err error
		if st.follower, err = session.Follow(path, st.after); err != nil {
			return err
		}
	}
	for {
		list, err := st.follower.Next(st.r.Context())
		if err != nil || len(list) == 0 {
			return err
		}
		for n := range list {
			messages := live.Messages(st.watch.id, &list[n].Entry)
			for i, m := range messages {
				at := session.Position("")
				if i == len(messages)-1 {
					at = list[n].After // who resumes has all of the entry
				}
				if err := st.message(m, at); err != nil {
					return err
				}
			}
		}
	}
}

// list sends sessions that changed, and those that are gone.
func (st *stream) list() error {
	if st.rows == nil {
		return nil
	}
	rows, err := st.srv.list.rows(st.r.Context(), "", usualList)
	if err != nil {
		return err
	}
	changed := Sessions{Sessions: []Session{}, All: len(st.rows) == 0}
	there := map[string]bool{}
	for _, row := range rows {
		there[row.ID] = true
		if st.rows[row.ID] != row {
			st.rows[row.ID] = row
			changed.Sessions = append(changed.Sessions, row)
		}
	}
	for id := range st.rows {
		if !there[id] {
			delete(st.rows, id)
			changed.Removed = append(changed.Removed, id)
		}
	}
	if len(changed.Sessions)+len(changed.Removed) == 0 && !changed.All {
		return nil
	}
	return st.event("sessions", changed)
}

// message writes a message of the wire, with its position if it is from the journal.
func (st *stream) message(m wire.Message, at session.Position) error {
	raw, err := wire.Encode(m)
	if err != nil {
		return nil // what cannot be said is left out, as on a pipe
	}
	if at != "" {
		fmt.Fprintf(&st.text, "id: %s\n", at)
	}
	return st.data(st.srv.redact.JSON(raw))
}

// event writes one that is not a message of the wire.
func (st *stream) event(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if !shownWhole(v) {
		raw = st.srv.redact.JSON(raw)
	}
	fmt.Fprintf(&st.text, "event: %s\n", name)
	return st.data(raw)
}

// data ends an event. JSON has no line breaks.
func (st *stream) data(raw []byte) error {
	st.text.WriteString("data: ")
	st.text.Write(raw)
	st.text.WriteString("\n\n")
	if st.text.Len() > maxUnsent {
		return st.flush()
	}
	return nil
}

// maxUnsent is how much is sent at once.
const maxUnsent = 256 << 10

// maxKept is how much of its memory a stream keeps for what comes.
const maxKept = 8 << 10

// flush sends what was written. A client that does not take it in time is cut off.
func (st *stream) flush() error {
	if st.text.Len() == 0 {
		return nil
	}
	if err := st.ctl.SetWriteDeadline(time.Now().Add(st.srv.opts.Patience)); err != nil {
		return err
	}
	_, err := st.out.Write(st.text.Bytes())
	if st.text.Reset(); st.text.Cap() > maxKept {
		st.text = bytes.Buffer{} // a stream that is quiet holds little
	}
	if err != nil {
		return err
	}
	return st.ctl.Flush()
}
