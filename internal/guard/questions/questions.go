// Package questions holds questions that several may answer, of which the first answer counts:
// whether a call may run, what an MCP server wants to know.
//
//	settled := func(a Answer) { … }                  // what the answer brings takes effect here
//	err := table.Ask(ctx, id, settled, opened, askers...)
//	ok := table.Answer(id, a)                        // by anyone who knows the id
//
// An answer takes the question out of the table before anything that it brings takes effect,
// so an answer that is too late brings nothing. A Table is safe for concurrent use.
package questions

import (
	"context"
	"sync"
	"sync/atomic"
)

// A Table holds the questions that nobody has answered yet. The zero value is empty.
type Table[A any] struct {
	mu   sync.Mutex
	open map[string]*question[A]
}

type question[A any] struct {
	settle  func(A)
	settled chan struct{} // closed when settle has returned
}

// Ask opens a question and puts it to askers, each in a goroutine of its own, until one of
// them has answered, Answer was called with its id, all of them have ended, or ctx ends. It
// does not wait for the others, whose context ends when Ask returns.
//
// Opened is called with that context before anyone is asked; if it fails, no one is, and its
// error is returned. Otherwise settle is called exactly once, before Ask or Answer return:
// with the answer that counts, or the zero value if there is none.
func (t *Table[A]) Ask(ctx context.Context, id string, settle func(A), opened func(context.Context) error, askers ...func(context.Context) (a A, ok bool)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := &question[A]{settle, make(chan struct{})}
	t.put(id, q)
	if err := opened(ctx); err != nil {
		t.take(id)
		return err
	}
	ended := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(len(askers)))
	if len(askers) == 0 {
		close(ended)
	}
	for _, ask := range askers {
		go func() {
			defer func() { // also if the asker ends this goroutine
				if left.Add(-1) == 0 {
					close(ended)
				}
			}()
			if a, ok := ask(ctx); ok {
				t.Answer(id, a)
			}
		}()
	}
	select {
	case <-q.settled:
		return nil
	case <-ended:
	case <-ctx.Done():
	}
	var none A
	t.Answer(id, none)
	<-q.settled
	return nil
}

// Answer answers a question and reports whether the answer counts. It returns when what the
// answer brings is in effect.
func (t *Table[A]) Answer(id string, a A) bool {
	q := t.take(id)
	if q == nil {
		return false
	}
	defer close(q.settled)
	q.settle(a)
	return true
}

func (t *Table[A]) put(id string, q *question[A]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[string]*question[A])
	}
	t.open[id] = q
}

func (t *Table[A]) take(id string) *question[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.open[id]
	delete(t.open, id)
	return q
}
