package tunnel

import (
	"fmt"
	"net"
	"sync"

	"github.com/nats-io/nats.go"
)

// A listener takes connections at a subject.
type listener struct {
	nc      *nats.Conn
	subject string
	sub     *nats.Subscription
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

// Listen listens at a subject.
func Listen(nc *nats.Conn, subject string) (net.Listener, error) {
	l := &listener{nc: nc, subject: subject, conns: make(chan net.Conn), closed: make(chan struct{})}
	var err error
	if l.sub, err = nc.Subscribe(subject, l.take); err != nil {
		return nil, fmt.Errorf("listen at the NATS server: %w", err)
	}
	return l, nil
}

// take answers who dials: with an inbox, or with nothing if nobody accepts any more.
func (l *listener) take(m *nats.Msg) {
	if !isInbox(string(m.Data)) || !isInbox(m.Reply) {
		return
	}
	inbox := l.nc.NewInbox()
	e, conn, err := newEnd(l.nc, inbox)
	if err != nil {
		_ = m.Respond(nil) // it notices anyway
		return
	}
	e.run(string(m.Data))
	if m.Respond([]byte(inbox)) != nil {
		e.stop()
		return
	}
	go func() {
		select {
		case l.conns <- conn:
		case <-l.closed:
			conn.Close()
		}
	}()
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. Connections that were accepted stay.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.sub.Unsubscribe()
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return address(l.subject) }

// An address is a subject.
type address string

// Network implements [net.Addr].
func (address) Network() string { return "nats" }

// String implements [net.Addr].
func (a address) String() string { return string(a) }
