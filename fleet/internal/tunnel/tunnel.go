package tunnel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Kinds of messages. Each message is a kind, a number and a content.
const (
	data  = 'd' // the number counts the data messages of its sender
	taken = 't' // the number is how many of them were taken
	alive = 'a' // the sender is there
	ended = 'e' // the sender writes and reads no more
)

const (
	chunk  = 64 << 10         // of data in a message
	window = 32               // data messages that may be on their way
	beat   = 5 * time.Second  // between signs of life
	silent = 20 * time.Second // after which the other side is taken for dead
)

// ErrNobody is the error of dialling where nobody listens.
var ErrNobody = errors.New("nobody listens there")

// An end is one end of a connection. Its user has the other end of a pipe, which brings
// deadlines along.
type end struct {
	nc   *nats.Conn
	to   string
	pipe net.Conn
	room chan struct{} // holds a token for each data message that may be sent

	stop  context.CancelFunc
	ctx   context.Context
	heard *time.Timer // ends the connection when the other side is silent
	in    chan []byte

	mu    sync.Mutex
	sent  uint64 // data messages
	acked uint64
}

// isInbox reports whether the other side may be sent to a subject: it may have fewer rights than this one, which must
// not publish elsewhere for it.
func isInbox(subject string) bool { return strings.HasPrefix(subject, "_INBOX.") }

// newEnd makes an end that hears what comes to a subject. The connection of its user is
// returned, too.
func newEnd(nc *nats.Conn, inbox string) (*end, net.Conn, error) {
	ours, theirs := net.Pipe()
	e := &end{nc: nc, pipe: ours, room: make(chan struct{}, window), in: make(chan []byte, 2*window)}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.heard = time.AfterFunc(silent, e.stop)
	for range window {
		e.room <- struct{}{}
	}
	sub, err := nc.Subscribe(inbox, func(m *nats.Msg) { e.receive(m.Data) })
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(e.ctx, func() {
		_ = sub.Unsubscribe() // the connection may be gone
		ours.Close()
	})
	return e, theirs, nil
}

// run begins to pass on what is written at either end.
func (e *end) run(to string) {
	e.to = to
	go e.write()
	go e.read()
	go e.beat()
}

// receive handles a message from the peer.
func (e *end) receive(m []byte) {
	if len(m) < 9 {
		return
	}
	e.heard.Reset(silent)
	switch n := binary.BigEndian.Uint64(m[1:9]); m[0] {
	case data:
		select {
		case e.in <- m:
		default:
			e.stop() // it sends more than it may
		}
	case taken:
		e.mu.Lock()
		defer e.mu.Unlock()
		for ; e.acked < n && e.acked < e.sent; e.acked++ {
			e.room <- struct{}{}
		}
	case ended:
		select {
		case e.in <- nil:
		default:
			e.stop()
		}
	}
}

func (e *end) send(kind byte, n uint64, content []byte) error {
	m := binary.BigEndian.AppendUint64([]byte{kind}, n)
	return e.nc.Publish(e.to, append(m, content...))
}

// write sends what the user writes.
func (e *end) write() {
	defer e.stop()
	buffer := make([]byte, chunk)
	for {
		n, err := e.pipe.Read(buffer)
		if err != nil {
			_ = e.send(ended, 0, nil) // or it is missed
			return
		}
		select {
		case <-e.room: // before anything else: what was written last is sent even if the end has come
		default:
			select {
			case <-e.room:
			case <-e.ctx.Done():
				return
			}
		}
		e.mu.Lock()
		e.sent++
		number := e.sent
		e.mu.Unlock()
		if e.send(data, number, buffer[:n]) != nil {
			return
		}
	}
}

// read gives the user what comes. A gap cannot be made up for.
func (e *end) read() {
	defer e.stop()
	for next := uint64(1); ; next++ {
		select {
		case m := <-e.in:
			if m == nil || binary.BigEndian.Uint64(m[1:9]) != next {
				return
			}
			if _, err := e.pipe.Write(m[9:]); err != nil || e.send(taken, next, nil) != nil {
				return
			}
		case <-e.ctx.Done():
			return
		}
	}
}

// beat gives signs of life.
func (e *end) beat() {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = e.send(alive, 0, nil) // the other side notices
		case <-e.ctx.Done():
			e.heard.Stop()
			return
		}
	}
}

// Dial connects to who listens at a subject.
func Dial(ctx context.Context, nc *nats.Conn, subject string) (net.Conn, error) {
	inbox := nc.NewInbox()
	e, conn, err := newEnd(nc, inbox)
	if err != nil {
		return nil, fmt.Errorf("connect through the NATS server: %w", err)
	}
	reply, err := nc.RequestWithContext(ctx, subject, []byte(inbox))
	if err == nil && !isInbox(string(reply.Data)) {
		err = ErrNobody
	}
	if err != nil {
		e.stop()
		if errors.Is(err, nats.ErrNoResponders) {
			err = ErrNobody
		}
		return nil, fmt.Errorf("connect through the NATS server: %w", err)
	}
	e.run(string(reply.Data))
	return conn, nil
}
