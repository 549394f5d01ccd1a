package main

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/model/script"
)

// A stopwatch serves scripted turns and notes when bytes come and go.
type stopwatch struct {
	*script.Server
	scenario script.AnswerFunc
	seen     func(turn int) // is told of each turn's first request

	mu    sync.Mutex
	sent  time.Time // the last byte of an answer
	begun time.Time // the first byte of the request after that
	turns []arrival // by turn, the first request of each
}

// An arrival is when a request came: asked after the answer before it, and begun
// when its first byte came. The first request of all has no answer before it.
type arrival struct {
	at, answered, begun time.Time
}

func (w *stopwatch) answer(r *script.Request) script.Turn {
	if r.Tools == 0 { // a title, or the like
		return script.Turn{Blocks: []script.Block{{Text: "ok"}}}
	}
	if w.note(r) {
		w.seen(r.Turn)
	}
	return w.scenario(r)
}

// note keeps when a turn's first request came, and reports whether r is it.
func (w *stopwatch) note(r *script.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Turn != len(w.turns) {
		return false
	}
	w.turns = append(w.turns, arrival{at: r.At, answered: w.sent, begun: w.begun})
	return true
}

func (w *stopwatch) arrivals() []arrival {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.turns)
}

// watched are connections that note their reads and writes.
type watched struct {
	net.Listener
	watch *stopwatch
}

func (l watched) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return watchedConn{c, l.watch}, nil
}

type watchedConn struct {
	net.Conn
	watch *stopwatch
}

func (c watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		now := time.Now()
		c.watch.mu.Lock()
		if c.watch.begun.Before(c.watch.sent) {
			c.watch.begun = now
		}
		c.watch.mu.Unlock()
	}
	return n, err
}

func (c watchedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	now := time.Now()
	c.watch.mu.Lock()
	c.watch.sent = now
	c.watch.mu.Unlock()
	return n, err
}
