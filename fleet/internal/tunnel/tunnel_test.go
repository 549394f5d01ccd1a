package tunnel

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
)

// What was written before the end is sent, whichever is noticed first.
func TestTheLastDataIsSent(t *testing.T) {
	conn := enginetest.Connect(t)
	heard := make(chan *nats.Msg, 16)
	to := conn.NATS.NewInbox()
	if _, err := conn.NATS.ChanSubscribe(to, heard); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		ours, theirs := net.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		e := &end{nc: conn.NATS, to: to, pipe: ours, room: make(chan struct{}, 1), ctx: ctx, stop: stop}
		e.room <- struct{}{}
		go e.write()
		if _, err := theirs.Write([]byte("last")); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		select {
		case m := <-heard:
			if m.Data[0] != data || string(m.Data[9:]) != "last" {
				t.Fatalf("heard %q", m.Data)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was sent")
		}
		<-heard // that it has ended
	}
}
