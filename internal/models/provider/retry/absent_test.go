package retry_test

import (
	"context"
	"io"
	"iter"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/models/provider/retry"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/openai"
)

func TestAServerOnThisMachineThatIsNotRunningIsAskedTwice(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	m := retry.New(openai.New(&openai.Options{BaseURL: "http://" + addr}), &retry.Options{Delay: time.Millisecond, Start: "ollama serve"})
	o := ask(t, m)
	if o.retries != 1 || o.err == nil || o.err.Kind != model.ConnectionLost || o.err.Temporary() {
		t.Errorf("%+v", o)
	}
	for _, want := range []string{addr, "not running", "Start it: ollama serve"} {
		if o.err != nil && !strings.Contains(o.err.Message, want) {
			t.Errorf("the error does not say %q: %s", want, o.err.Message)
		}
	}
}

// A server that goes away in the middle may come back, and so may one elsewhere.
func TestOnlyARefusalOnThisMachineIsFinal(t *testing.T) {
	elsewhere := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}, Err: syscall.ECONNREFUSED}
	for _, cause := range []error{io.ErrUnexpectedEOF, elsewhere} {
		f := failing{&model.Error{Kind: model.ConnectionLost, Message: "lost", Err: cause}}
		if o := ask(t, retry.New(f, &retry.Options{Max: 3, Delay: time.Millisecond})); o.retries != 3 {
			t.Errorf("%v: %d retries, want 3", cause, o.retries)
		}
	}
}

// failing is a model that only fails.
type failing struct{ err error }

func (f failing) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { yield(nil, f.err) }
}
