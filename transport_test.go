//go:build unix

package haft_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft"
	"github.com/haftdev/haft/wire"
)

// inProcess is a Transport without a process: the stub's agent on a goroutine.
type inProcess struct {
	launched *haft.Launch
	err      error // how the agent ends
}

func (p *inProcess) Start(_ context.Context, l *haft.Launch) (haft.Link, error) {
	p.launched = l
	ours, theirs := wire.Pipe()
	link := &inProcessLink{PipeEnd: ours, ended: make(chan struct{}), err: p.err}
	go func() {
		defer close(link.ended)
		f := &fake{how: "echo"}
		f.Conn = wire.NewConn(theirs, &wire.ConnOptions{Handle: f.handle})
		turns := make(chan struct{})
		asked := make(chan *wire.User, 10)
		go func() {
			defer close(turns)
			for m := range asked {
				f.turn(m)
			}
		}()
		_ = f.Run(context.Background(), func(m wire.Message) { asked <- m.(*wire.User) })
		close(asked)
		<-turns
		f.Wait()
		theirs.Close()
	}()
	return link, nil
}

type inProcessLink struct {
	*wire.PipeEnd
	ended chan struct{}
	err   error
}

func (l *inProcessLink) Wait() error {
	<-l.ended
	return l.err
}

func (l *inProcessLink) Close() error {
	l.PipeEnd.Close()
	<-l.ended
	return nil
}

func TestATransportTakesThePlaceOfTheProcess(t *testing.T) {
	leakless(t)
	p := &inProcess{}
	got, err := tags(t, haft.Query(t.Context(), "hi", &haft.Options{Transport: p, Dir: "/work", Model: "m"}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"system/init", "assistant", "result/success"}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if p.launched.Dir != "/work" || p.launched.Args[len(p.launched.Args)-1] != "--model=m" {
		t.Errorf("launched with %+v", p.launched)
	}
}

func TestATransportMayFail(t *testing.T) {
	leakless(t)
	broken := errors.New("the other machine is gone")
	if _, err := tags(t, haft.Query(t.Context(), "hi", &haft.Options{Transport: &inProcess{err: broken}})); !errors.Is(err, broken) {
		t.Errorf("the query ended with %v", err)
	}
}

func TestLeavingALoopEndsATransport(t *testing.T) {
	leakless(t)
	for range haft.Query(t.Context(), "hi", &haft.Options{Transport: &inProcess{}}) {
		break
	}
}
