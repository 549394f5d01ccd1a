// Package schedule provides the tools ScheduleWakeup, CronCreate, CronList and CronDelete,
// which let a conversation continue later by itself.
//
//	s := schedule.New(&schedule.Options{Fire: send, Changed: save, Jobs: restored})
//	s.Start() // once what Fire needs is there
//	defer s.Close()
//	set := tool.NewSet(session, s.Tools(), nil, nil)
//
// A Schedule is safe for concurrent use. Fire and Changed are called without its lock.
//
// Trust: later, the conversation only gets a prompt that its own model wrote. Calls that
// follow from it are judged then, like all others.
package schedule

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"
)

// A Job is a prompt to be sent later.
type Job struct {
	ID        string    `json:"id"`
	Cron      string    `json:"cron,omitempty"` // "" for a wake-up
	Human     string    `json:"humanSchedule"`
	Prompt    string    `json:"prompt"`
	Reason    string    `json:"reason,omitempty"`
	Recurring bool      `json:"recurring"`
	Durable   bool      `json:"durable"`
	Created   time.Time `json:"created"`
	Next      time.Time `json:"next"`
}

// A Clock tells a schedule the time.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f after a duration, unless stop is called before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }
func (realClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Options are what a schedule needs. A nil *Options means all zero values.
type Options struct {
	Clock Clock // nil means that of this machine
	// Fire, if not nil, is called with each job that is due.
	Fire func(Job)
	// Changed, if not nil, is called with all jobs after each change.
	Changed func([]Job)
	// Jobs are the jobs of an earlier run.
	Jobs []Job
}

// Limits of a schedule.
const (
	maxJobs   = 50
	maxPrompt = 20_000             // bytes
	expires   = 7 * 24 * time.Hour // after which a recurring job comes no more: nobody may be left who wants it
	maxTimer  = time.Minute        // a longer one would not notice that the machine was asleep
)

// A Schedule holds prompts that a conversation gets later.
type Schedule struct {
	opts Options

	mu      sync.Mutex
	jobs    []Job
	started bool
	closed  bool
	stop    func() bool // the timer
}

// New returns a schedule that waits for Start.
func New(opts *Options) *Schedule {
	s := new(Schedule)
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Clock == nil {
		s.opts.Clock = realClock{}
	}
	if s.opts.Fire == nil {
		s.opts.Fire = func(Job) {}
	}
	if s.opts.Changed == nil {
		s.opts.Changed = func([]Job) {}
	}
	s.jobs = slices.Clone(s.opts.Jobs[:min(len(s.opts.Jobs), maxJobs)])
	return s
}

// Start starts the schedule. A job that was due while the session was not running is due at
// once, and only once, however often it was missed.
func (s *Schedule) Start() {
	s.mu.Lock()
	s.started = true
	s.mu.Unlock()
	s.tick()
}

// Close stops the schedule: no more jobs are due.
func (s *Schedule) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
}

// Jobs returns all jobs, the soonest first.
func (s *Schedule) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sortedLocked()
}

func (s *Schedule) sortedLocked() []Job {
	return slices.SortedFunc(slices.Values(s.jobs), func(a, b Job) int { return cmp.Or(a.Next.Compare(b.Next), cmp.Compare(a.ID, b.ID)) })
}

// tick lets happen what is due, and sets the timer for the next.
func (s *Schedule) tick() {
	s.mu.Lock()
	if s.closed || !s.started {
		s.mu.Unlock()
		return
	}
	now := s.opts.Clock.Now()
	var due, rest []Job
	for _, j := range s.jobs {
		c, err := parse(j.Cron)
		if j.Next.After(now) {
			// A clock that was set back is not waited for until it is where it was.
			if j.Recurring && err == nil {
				j.Next = earlier(j.Next, c.next(now))
			}
			rest = append(rest, j)
			continue
		}
		due = append(due, j)
		if !j.Recurring || err != nil || now.Sub(j.Created) > expires {
			continue
		}
		j.Next = c.next(now)
		rest = append(rest, j)
	}
	s.jobs = rest
	left := s.sortedLocked()
	s.armLocked(now)
	s.mu.Unlock()
	if len(due) == 0 {
		return
	}
	s.opts.Changed(left) // first, so that a job that was begun does not happen again after a crash
	for _, j := range due {
		s.opts.Fire(j)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (s *Schedule) armLocked(now time.Time) {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	if len(s.jobs) == 0 || s.closed || !s.started {
		return
	}
	wait := min(s.sortedLocked()[0].Next.Sub(now), maxTimer)
	s.stop = s.opts.Clock.AfterFunc(max(wait, 0), s.tick)
}

// change replaces the jobs, and reports it.
func (s *Schedule) change(edit func([]Job) []Job) {
	s.mu.Lock()
	s.jobs = edit(s.jobs)
	left := s.sortedLocked()
	s.armLocked(s.opts.Clock.Now())
	s.mu.Unlock()
	s.opts.Changed(left)
}

func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
