package wire_test

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/haftdev/haft/wire"
)

func TestPipeHandsMessagesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := wire.Pipe()
		sent := wire.Prompt("hi")
		go a.Write(sent)
		if m, err := b.Read(); m != sent || err != nil {
			t.Errorf("read %v, %v; want the very message", m, err)
		}
		a.CloseWrite()
		a.CloseWrite()
		if _, err := b.Read(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
		if err := a.Write(sent); err != io.ErrClosedPipe {
			t.Errorf("a write after the end: %v", err)
		}
		go func() { // the other direction still works
			if err := b.Write(sent); err != nil {
				t.Error(err)
			}
		}()
		if m, _ := a.Read(); m != sent {
			t.Errorf("read %v from the other direction", m)
		}
	})
}

func TestClosingAPipeFreesBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := wire.Pipe()
		errs := make(chan error, 3)
		go func() { errs <- b.Write(wire.Prompt("to nobody")) }()
		synctest.Wait()
		a.Close()
		if err := <-errs; err != io.ErrClosedPipe {
			t.Errorf("the other end's write: %v", err)
		}
		if _, err := b.Read(); err != io.EOF {
			t.Errorf("the other end's read: %v", err)
		}
		if _, err := a.Read(); err != io.ErrClosedPipe {
			t.Errorf("a read of the closed end: %v", err)
		}
	})
}
