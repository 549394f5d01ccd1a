package sched_test

import (
	"slices"
	"time"

	"github.com/haftdev/haft/sched"
)

// expect plays a script on the model.
func expect(s script) []life {
	s.calls = slices.Clone(s.calls)
	m := &model{script: s, lives: make([]life, len(s.calls)), phase: make([]phase, len(s.calls)), due: make([]time.Duration, len(s.calls))}
	for i := range m.lives {
		m.lives[i] = life{Start: -1, End: -1}
	}
	for m.step() {
	}
	return m.lives
}

// A model is the scheduler as its documentation describes it: calls in phases,
// and a clock that jumps from event to event.
type model struct {
	script  script
	now     time.Duration
	next    int // the next call to open
	aborted bool
	stopped bool // nothing starts any more
	failed  bool
	phase   []phase
	due     []time.Duration // when an asked or running call moves on
	lives   []life
}

type phase int

const (
	unborn phase = iota
	opened       // its input arrives
	waits        // in the queue
	asked        // has a place, hooks and a user think, perhaps for no time at all
	wishes       // gave its place up to run alone
	runs
	over
)

// step plays the earliest event and reports whether there was one.
func (m *model) step() bool {
	at, event := time.Duration(1<<62), func() {}
	consider := func(t time.Duration, f func()) {
		if t < at {
			at, event = t, f
		}
	}
	if m.next < len(m.script.calls) {
		consider(m.script.calls[m.next].opens, m.open)
	}
	if m.script.abort != noAbort && !m.aborted {
		consider(m.script.at, m.abort)
	}
	for i, p := range m.phase {
		if p == opened || p == asked || p == runs {
			consider(m.due[i], func() { m.move(i) })
		}
	}
	if at == 1<<62 {
		return false
	}
	if m.next == len(m.script.calls) && !slices.ContainsFunc(m.phase, func(p phase) bool { return p != over }) {
		return false
	}
	m.now = at
	event()
	m.advance()
	return true
}

func (m *model) open() {
	i := m.next
	m.next++
	m.phase[i], m.due[i] = opened, m.script.calls[i].arrives
}

func (m *model) arrive(i int) {
	switch c := m.script.calls[i]; {
	case m.aborted && m.script.abort == contextEnds:
		m.end(i, sched.Cancelled)
	case c.kind == isUnknown:
		m.end(i, sched.Unknown)
	case c.kind == isInvalid:
		m.end(i, sched.Invalid)
	case m.stopped, m.failed:
		m.end(i, sched.Cancelled)
	default:
		m.phase[i] = waits
	}
}

// stop ends what has not run yet, which never will.
func (m *model) stop() {
	m.stopped = true
	for i, p := range m.phase {
		if p == waits || p == asked || p == wishes {
			m.end(i, sched.Cancelled)
		}
	}
}

func (m *model) abort() {
	m.aborted = true
	m.stop()
	for i, p := range m.phase {
		if p == runs && !(m.script.calls[i].blocks && m.script.abort == interrupted) {
			m.cancel(i)
		}
	}
}

// cancel ends a call that runs, at once or when it has been waited for.
func (m *model) cancel(i int) {
	c := m.script.calls[i]
	if !c.deaf {
		m.end(i, sched.Cancelled)
		return
	}
	if m.due[i] > m.now+grace {
		m.due[i], m.script.calls[i].kind = m.now+grace, isCancelled
	}
	if c.kind != succeeds { // whatever it says once it is cancelled
		m.script.calls[i].kind = isCancelled
	}
}

// isCancelled marks a deaf call that will be given up or fail.
const isCancelled = kinds

// advance hands out places.
func (m *model) advance() {
	for i, p := range m.phase {
		if p == wishes {
			if m.places() == 0 {
				m.run(i)
			}
			return
		}
	}
	for i, p := range m.phase {
		if p == opened {
			return
		}
		if p != waits {
			continue
		}
		n := m.places()
		if n > 0 && (!m.script.calls[i].safe || m.exclusive() || n >= m.script.most) {
			return
		}
		m.phase[i], m.due[i] = asked, m.now+m.script.calls[i].asks
		if m.script.calls[i].changed {
			m.due[i] += hookTakes
		}
	}
}

// permitted moves a call that may run, and must be alone if it was changed.
func (m *model) permitted(i int) {
	if c := m.script.calls[i]; c.safe && c.changed {
		m.phase[i] = wishes
		return
	}
	m.run(i)
}

func (m *model) run(i int) {
	m.phase[i], m.due[i], m.lives[i].Start = runs, m.now+m.script.calls[i].takes, m.now
}

// move is what happens to a call when its time is up.
func (m *model) move(i int) {
	c := m.script.calls[i]
	switch {
	case m.phase[i] == opened:
		m.arrive(i)
	case m.phase[i] == asked && (c.kind == isDenied || c.kind == endsTurn):
		m.end(i, sched.Denied)
	case m.phase[i] == asked:
		m.permitted(i)
	case c.kind == isCancelled:
		m.end(i, sched.Cancelled)
	case c.kind == succeeds:
		m.end(i, sched.Succeeded)
	default:
		m.end(i, sched.Failed)
	}
}

func (m *model) end(i int, s sched.Status) {
	m.phase[i], m.lives[i].End, m.lives[i].Status = over, m.now, s
	if k := m.script.calls[i].kind; k == breaks && s == sched.Failed || k == endsTurn && s == sched.Denied {
		m.stop()
		return
	}
	if s != sched.Failed || !m.script.cancel || !m.script.calls[i].stops {
		return
	}
	m.failed = true
	for j := i + 1; j < len(m.phase); j++ {
		if m.phase[j] == waits {
			m.end(j, sched.Cancelled)
		}
	}
	for j, p := range m.phase {
		switch {
		case p == asked, p == wishes:
			m.end(j, sched.Cancelled)
		case p == runs && !m.script.calls[j].blocks:
			m.cancel(j)
		}
	}
}

// places is how many calls hold one.
func (m *model) places() int {
	n := 0
	for _, p := range m.phase {
		if p == asked || p == runs {
			n++
		}
	}
	return n
}

// exclusive reports whether the call that has a place has it alone.
func (m *model) exclusive() bool {
	for i, p := range m.phase {
		c := m.script.calls[i]
		if p == asked && !c.safe || p == runs && (!c.safe || c.changed) {
			return true
		}
	}
	return false
}
