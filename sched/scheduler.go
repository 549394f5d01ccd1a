package sched

import (
	"cmp"
	"context"
	"time"

	"github.com/haftdev/haft/output"
	"github.com/haftdev/haft/tool"
)

// A Scheduler runs calls by one configuration. It has no state of its own.
type Scheduler struct {
	opts Options
}

// Options configure a [Scheduler].
type Options struct {
	// Judge decides by rules; nil leaves every call to the askers.
	Judge Judge
	// Askers answer what the judge left open; none means that it is denied.
	Askers []Asker
	// Hooks see every call; nil means none.
	Hooks Hooks
	// Recorder is called with every step before it is taken; nil means nobody is.
	Recorder Recorder
	// Feeds observe calls.
	Feeds []*Feed
	// Dir is where an agent works, "" being the main conversation: relative paths
	// begin there. Nil leaves them to the tools.
	Dir func(agent string) string
	// Output keeps results that are too long; nil cuts them without keeping.
	Output *output.Store
	// MessageLimit is how many characters the results of one message may have
	// together; 0 means 400,000.
	MessageLimit int
	// MaxConcurrent is how many calls of a batch run at once; 0 means 128.
	MaxConcurrent int
	// SiblingErrors says what a failing shell does to the calls behind it.
	SiblingErrors SiblingErrors
	// CancelGrace is how long a cancelled call may take to return before its
	// outcome is given without it; 0 means 5 s.
	CancelGrace time.Duration
}

// SiblingErrors is what a failing call of a tool with StopsSiblings does to the
// calls queued behind it.
type SiblingErrors int

const (
	// Independent calls do not care: each succeeds or fails by itself.
	Independent SiblingErrors = iota
	// CancelSiblings cancels the calls queued behind the failed one, and aborts those that
	// execute beside it and may be interrupted.
	CancelSiblings
)

// New returns a scheduler. Nil options mean that every call is denied, for want
// of anybody who could allow it.
func New(opts *Options) *Scheduler {
	s := new(Scheduler)
	if opts != nil {
		s.opts = *opts
	}
	s.opts.MessageLimit = cmp.Or(s.opts.MessageLimit, 400_000)
	s.opts.MaxConcurrent = cmp.Or(s.opts.MaxConcurrent, 128)
	s.opts.CancelGrace = cmp.Or(s.opts.CancelGrace, 5*time.Second)
	return s
}

// Call takes one call all the way, as a message of its own.
func (s *Scheduler) Call(ctx context.Context, tools *tool.Set, useID, name string, input []byte) *Outcome {
	b := s.Start(ctx, &BatchOptions{Tools: tools})
	b.Add(useID, name, input)
	b.End()
	var out *Outcome
	for out = range b.Outcomes() { // to the end, where the batch lets go of ctx
	}
	return out
}
