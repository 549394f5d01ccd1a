package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// An observer is one who watches: a connection with a goroutine that tells the journal,
// one that tells what is not in it, and one that takes what the other side says.
type observer struct {
	channel *channel
	conn    net.Conn
	wire    *wire.Conn
	news    chan wire.Message // not in the journal
	pokes   chan struct{}     // holds a token when the journal may have grown
	ending  chan struct{}     // closed when the session ends
	ended   sync.Once
	ctx     context.Context
	stop    context.CancelFunc

	mu      sync.Mutex
	started bool
	name    string // fixed when it has started, as answers
	answers bool

	asked map[*question]bool // by the goroutine that tells the journal
}

const (
	writeTime = 10 * time.Second       // for a message to be taken
	pollTime  = 250 * time.Millisecond // between looks at the journal that nothing led to
	waiting   = 4096                   // messages that may wait for a slow observer
)

func newObserver(c *channel, conn net.Conn) *observer {
	o := &observer{channel: c, conn: conn, news: make(chan wire.Message, waiting), pokes: make(chan struct{}, 1), ending: make(chan struct{}), asked: map[*question]bool{}}
	o.ctx, o.stop = context.WithCancel(context.Background())
	o.wire = wire.NewConn(timed{wire.Lines(wire.NewReader(conn), wire.NewWriter(conn)), conn}, &wire.ConnOptions{
		Handle: o.handle,
		// Prompts that follow an observe or a mode find it done.
		Ordered: func(r wire.Request) bool {
			switch r.(type) {
			case *wire.Observe, *wire.SetPermissionMode, *wire.SetModel:
				return true
			}
			return false
		},
	})
	return o
}

// timed is a stream whose messages must be taken in time.
type timed struct {
	wire.Stream
	conn net.Conn
}

// Write writes a message.
func (t timed) Write(m wire.Message) error {
	if err := t.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if err := t.Stream.Write(m); err != nil {
		t.conn.Close() // a message that was cut cannot be continued
		return err
	}
	return nil
}

// run serves the observer until either side ends.
func (o *observer) run() {
	defer o.channel.leave(o)
	defer o.conn.Close()
	defer o.stop()
	_ = o.wire.Run(o.ctx, func(m wire.Message) {
		if u, ok := m.(*wire.User); ok && o.begun() {
			if err := o.channel.told.Prompt(u); err != nil {
				o.tell(&wire.Informational{Stamp: wire.Stamp{UUID: session.NewUUID(), SessionID: o.channel.talk.Agent.Session()}, Level: "warning", Content: "Could not read a prompt: " + err.Error()})
			}
		}
	})
}

func (o *observer) begun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.started
}

var errNotObserved = errors.New("send observe first")

// handle answers a request.
func (o *observer) handle(ctx context.Context, r wire.Request) (any, error) {
	if r, ok := r.(*wire.Observe); ok {
		return o.observe(r)
	}
	if !o.begun() {
		return nil, errNotObserved
	}
	return o.channel.told.Handle(ctx, r)
}

// observe begins to tell.
func (o *observer) observe(r *wire.Observe) (any, error) {
	f, err := o.channel.follow(r.From)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	if o.started {
		o.mu.Unlock()
		return nil, errors.New("it is already being observed")
	}
	o.started, o.answers, o.name = true, r.Answers, r.Name
	if o.name == "" {
		o.name = "another process"
	}
	o.mu.Unlock()
	for _, m := range o.channel.told.Calls() {
		o.tell(m)
	}
	go o.tellJournal(f)
	go o.tellNews()
	return o.channel.reply(), nil
}

// tellJournal tells what the journal has, and what comes.
func (o *observer) tellJournal(f *session.Follower) {
	defer o.conn.Close()
	id := o.channel.talk.Agent.Session()
	look := time.NewTicker(pollTime)
	defer look.Stop()
	for last := false; ; {
		list, err := f.Next(o.ctx)
		if err != nil {
			return
		}
		for n := range list {
			for _, m := range Messages(id, &list[n].Entry) {
				if o.wire.Send(m) != nil {
					return
				}
			}
		}
		if len(list) > 0 {
			if o.wire.Send(&wire.JournalPosition{Stamp: wire.Stamp{UUID: session.NewUUID(), SessionID: id}, Position: string(f.Position())}) != nil {
				return
			}
			continue
		}
		if last {
			return
		}
		o.ask(o.channel.open()) // after what led to them
		select {
		case <-o.pokes:
		case <-look.C:
		case <-o.ending:
			last = true
		case <-o.ctx.Done():
			return
		}
	}
}

// tellNews tells what is not in the journal.
func (o *observer) tellNews() {
	for {
		select {
		case m := <-o.news:
			if o.wire.Send(m) != nil {
				return
			}
		case <-o.ctx.Done():
			return
		}
	}
}

// tell queues a message. An observer that does not read is disconnected: it can resume.
func (o *observer) tell(m wire.Message) {
	if !o.begun() {
		return
	}
	select {
	case o.news <- m:
	default:
		o.conn.Close()
	}
}

// poke says that the journal may have grown.
func (o *observer) poke() {
	select {
	case o.pokes <- struct{}{}:
	default:
	}
}

// finish lets the observer hear the end of the journal and go.
func (o *observer) finish() {
	o.ended.Do(func() {
		close(o.ending)
		if !o.begun() {
			o.conn.Close()
		}
		_ = o.conn.SetReadDeadline(time.Now().Add(endTime)) // a reader that hangs is not waited for
	})
}

// endTime is how long the end of a session waits for those who watch it.
const endTime = 500 * time.Millisecond

// ask asks the observer what is open, if it can be asked, and each question once.
func (o *observer) ask(open []*question) {
	if !o.answers {
		return
	}
	maps.DeleteFunc(o.asked, func(q *question, _ bool) bool { return !slices.Contains(open, q) })
	for _, q := range open {
		if !o.asked[q] {
			o.asked[q] = true
			o.put(q)
		}
	}
}

// put asks one question.
func (o *observer) put(q *question) {
	go func() {
		ctx, cancel := context.WithCancel(q.ctx)
		defer cancel()
		defer context.AfterFunc(o.ctx, cancel)()
		var raw json.RawMessage
		if o.wire.Call(ctx, q.request, &raw) != nil {
			return // it cannot be asked, is gone, or another one was first
		}
		said := struct{ By string }{o.name} // an observer such as a server may have many users
		_ = json.Unmarshal(raw, &said)      // what is no answer decides nothing
		q.answer(raw, cmp.Or(said.By, o.name))
	}()
}
