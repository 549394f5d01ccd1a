//go:build linux

package command_test

import (
	"math/rand/v2"
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestABadNetwork puts a proxy between workers and the server that delays, splits what is
// sent, falls silent, and cuts connections in the middle of it.
func TestABadNetwork(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	p := newBadProxy(t, f.servers[0].address)
	direct := f.url
	f.url = "nats://" + p.listener.Addr().String()
	var workers []*exec.Cmd
	for range 3 {
		workers = append(workers, f.startWorker())
	}
	t.Cleanup(func() {
		for _, w := range workers {
			kill(w)
		}
	})
	f.url = direct
	prompts := map[string][]string{}
	for range 8 {
		id, names := f.submit(2)
		prompts[id] = names
	}
	var sum tally
	told := map[string]string{}
	for id, names := range prompts {
		f.mustEnd(t, id, names)
		f.check(id, names, &sum, told)
	}
	f.checkEffects(&sum, told)
	t.Logf("%d runs; %d cut connections, %d silences; %d calls, %d unknown", len(prompts), p.cuts.Load(), p.silences.Load(), sum.calls, sum.unknown)
	if p.cuts.Load() == 0 || p.silences.Load() == 0 {
		t.Error("too little went wrong for this to show anything")
	}
}

// A badProxy is a bad network in front of a server.
type badProxy struct {
	listener       net.Listener
	to             string
	cuts, silences atomic.Int32
}

func newBadProxy(t *testing.T, to string) *badProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &badProxy{listener: l, to: to}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *badProxy) serve(c net.Conn) {
	defer c.Close()
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	var both sync.WaitGroup
	end := time.AfterFunc(500*time.Millisecond+rand.N(2500*time.Millisecond), func() {
		p.cuts.Add(1)
		c.Close()
		up.Close()
	})
	defer end.Stop()
	both.Go(func() { p.pass(c, up) })
	both.Go(func() { p.pass(up, c) })
	both.Wait()
}

// pass passes bytes on in small pieces, late, or for a while not at all.
func (p *badProxy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 1+rand.IntN(4096))
	for {
		n, err := from.Read(buf)
		for piece := buf[:n]; len(piece) > 0; {
			k := 1 + rand.IntN(len(piece))
			if _, err := to.Write(piece[:k]); err != nil {
				return
			}
			piece = piece[k:]
		}
		if err != nil {
			return
		}
		switch rand.IntN(100) {
		case 0:
			p.silences.Add(1)
			time.Sleep(time.Second)
		case 1, 2, 3, 4, 5, 6, 7, 8, 9:
			time.Sleep(rand.N(20 * time.Millisecond))
		}
	}
}
