package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/wire"
)

// An end is one side of two connections that talk to each other.
type end struct {
	*wire.Conn
	out *io.PipeWriter
	in  *io.PipeReader
	// got is what was delivered, done is what Run returned.
	got  chan wire.Message
	done chan error
}

func (e *end) hangUp() { e.out.Close() }

func pair(ctx context.Context, a, b *wire.ConnOptions) (*end, *end) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	return run(ctx, ar, aw, a), run(ctx, br, bw, b)
}

func run(ctx context.Context, r *io.PipeReader, w *io.PipeWriter, opts *wire.ConnOptions) *end {
	e := &end{
		Conn: wire.NewConn(wire.Lines(wire.NewReader(r), wire.NewWriter(w)), opts),
		out:  w, in: r, got: make(chan wire.Message, 100), done: make(chan error, 1),
	}
	go func() { e.done <- e.Run(ctx, func(m wire.Message) { e.got <- m }) }()
	return e
}

func TestCallsAreAnsweredInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, cli := pair(t.Context(), nil, &wire.ConnOptions{Handle: func(_ context.Context, r wire.Request) (any, error) {
			model := r.(*wire.SetModel).Model
			if model == "slow" {
				time.Sleep(time.Hour)
			}
			return wire.SetModelReply{Model: "the " + model}, nil
		}})
		replies := make(chan string)
		for i, model := range []string{"slow", "fast"} {
			go func() {
				time.Sleep(time.Duration(i) * time.Minute)
				var reply wire.SetModelReply
				if err := host.Call(t.Context(), &wire.SetModel{Model: model}, &reply); err != nil {
					t.Error(err)
				}
				replies <- reply.Model
			}()
		}
		if diff := cmp.Diff([]string{"the fast", "the slow"}, []string{<-replies, <-replies}); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		host.hangUp()
		cli.hangUp()
		if err := errors.Join(<-host.done, <-cli.done); err != nil {
			t.Error(err)
		}
	})
}

func TestErrorAnswersAreTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, cli := pair(t.Context(), nil, &wire.ConnOptions{Handle: func(_ context.Context, r wire.Request) (any, error) {
			switch r.(type) {
			case *wire.SetModel:
				return nil, errors.New("no such model")
			case *wire.SetPermissionMode:
				return nil, fmt.Errorf("mode: %w", &wire.ControlError{Code: wire.ErrorInvalidMode, Message: "bad"})
			case *wire.Interrupt:
				panic("boom")
			case *wire.MCPStatus:
				return func() {}, nil // no JSON
			}
			return nil, wire.Unsupported(r)
		}})
		tests := []struct {
			request wire.Request
			want    wire.ControlError
		}{
			{&wire.SetModel{}, wire.ControlError{Message: "no such model"}},
			{&wire.SetPermissionMode{}, wire.ControlError{Code: "invalid_mode", Message: "mode: bad"}},
			{&wire.Interrupt{}, wire.ControlError{Message: "interrupt: panic: boom"}},
			{&wire.MCPStatus{}, wire.ControlError{Message: "json: unsupported type: func()"}},
			{&wire.UnknownRequest{Name: "dance", Body: []byte(`{"subtype":"dance"}`)}, wire.ControlError{Code: "unsupported_request", Message: "Unsupported control request subtype: dance"}},
		}
		for _, tt := range tests {
			err := host.Call(t.Context(), tt.request, nil)
			got := &wire.ControlError{}
			if !errors.As(err, &got) {
				t.Errorf("%s: %v, want a ControlError", tt.request.Subtype(), err)
			} else if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.request.Subtype(), diff)
			}
		}
		host.hangUp()
		cli.hangUp()
	})
}

func TestACallThatIsGivenUpIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		host, cli := pair(t.Context(), &wire.ConnOptions{Handle: func(ctx context.Context, r wire.Request) (any, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return "too late", nil
		}}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := cli.Call(ctx, &wire.CanUseTool{ToolName: "Bash"}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ended with %v", err)
		}
		if err := <-ended; err == nil {
			t.Error("the handler's context has no cause")
		}
		host.Wait()
		host.hangUp()
		cli.hangUp()
		<-cli.done
		if n := len(cli.got); n != 0 {
			t.Errorf("%d messages came for a request that was taken back", n)
		}
	})
}

func TestCallsEndWhenTheOtherSideDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := &wire.ConnOptions{Handle: func(ctx context.Context, _ wire.Request) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		ctx, cancel := context.WithCancel(t.Context())
		host, cli := pair(ctx, nil, never)
		failed := make(chan error)
		go func() { failed <- host.Call(t.Context(), &wire.MCPStatus{}, nil) }()
		synctest.Wait()
		cli.hangUp()
		if err := <-failed; !errors.Is(err, wire.ErrClosed) {
			t.Errorf("the call that waited: %v, want ErrClosed", err)
		}
		if err := host.Call(t.Context(), &wire.MCPStatus{}, nil); !errors.Is(err, wire.ErrClosed) {
			t.Errorf("a call afterwards: %v, want ErrClosed", err)
		}
		host.hangUp()
		<-cli.done
		go io.Copy(io.Discard, host.in) // the answer of the cancelled handler
		cancel()
		cli.Wait()
	})
}

func TestOrderedRequestsAreDoneBeforeWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mode := "default"
		host, cli := pair(t.Context(), nil, &wire.ConnOptions{
			Ordered: func(r wire.Request) bool { return r.Subtype() == "set_permission_mode" },
			Handle: func(_ context.Context, r wire.Request) (any, error) {
				time.Sleep(time.Second)
				mode = r.(*wire.SetPermissionMode).Mode
				return nil, nil
			},
		})
		go host.Call(t.Context(), &wire.SetPermissionMode{Mode: "plan"}, nil)
		synctest.Wait()
		if err := host.Send(wire.Prompt("now")); err != nil {
			t.Fatal(err)
		}
		<-cli.got
		if mode != "plan" {
			t.Errorf("the prompt came while the mode was %s", mode)
		}
		host.hangUp()
		cli.hangUp()
	})
}

func TestBadLinesEndAConnectionOnlyIfAsked(t *testing.T) {
	strict := errors.New("not JSON")
	tests := []struct {
		name    string
		badLine func(*wire.LineError) error
		want    error
	}{
		{"they are skipped", nil, nil},
		{"they are fatal", func(*wire.LineError) error { return strict }, strict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				e := run(t.Context(), r, nil, &wire.ConnOptions{BadLine: tt.badLine})
				go func() {
					fmt.Fprint(w, "garbage\n{\"type\":\"keep_alive\"}\n")
					w.Close()
				}()
				err := <-e.done
				r.Close()
				if !errors.Is(err, tt.want) || (err == nil) != (len(e.got) == 1) {
					t.Errorf("Run returned %v after %d messages", err, len(e.got))
				}
			})
		})
	}
}
