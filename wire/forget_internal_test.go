package wire

import (
	"context"
	"errors"
	"testing"
)

// A call that has ended leaves nothing behind, whether it was answered or given up.
func TestCallsAreForgotten(t *testing.T) {
	ours, theirs := Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	c := NewConn(ours, nil)
	answered := NewConn(theirs, &ConnOptions{Handle: func(_ context.Context, r Request) (any, error) {
		if r, ok := r.(*SetModel); ok && r.Model == "never" {
			cancel() // while the call waits
			<-t.Context().Done()
		}
		return Empty{}, nil
	}})
	go c.Run(t.Context(), func(Message) {})
	go answered.Run(t.Context(), func(Message) {})
	if err := c.Call(t.Context(), &SetModel{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(ctx, &SetModel{Model: "never"}, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.pending); n > 0 {
		t.Errorf("%d calls are kept", n)
	}
}

// broken is a stream that fails.
type broken struct{ err error }

func (b broken) Read() (Message, error) { return nil, b.err }
func (b broken) Write(Message) error    { return nil }

// Calls that come too late say why the stream has ended.
func TestCallsSayWhyTheStreamEnded(t *testing.T) {
	why := errors.New("the cable was cut")
	c := NewConn(broken{why}, nil)
	if err := c.Run(t.Context(), nil); !errors.Is(err, why) {
		t.Errorf("Run: %v", err)
	}
	if err := c.Call(t.Context(), &SetModel{}, nil); !errors.Is(err, why) || !errors.Is(err, ErrClosed) {
		t.Errorf("Call: %v", err)
	}
}
