package sched

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/internal/text/jsonstream"
	"github.com/haftdev/haft/tool"
)

// A Scheduler runs calls with one configuration. It has no state.
type Scheduler struct {
	opts Options
}

// Options configure a [Scheduler].
type Options struct {
	// Judge decides by rules; nil leaves every call to the askers.
	Judge Judge
	// Askers answer what the judge leaves open; with none, such calls are denied.
	Askers []Asker
	// Questions are what the askers are asked, which others may answer, too; nil means a
	// table of its own, which only the askers answer.
	Questions *Questions
	// Who wants the calls to run, for those who are asked; "" says nothing about it.
	Who string
	// Hooks see every call; nil means none.
	Hooks Hooks
	// Recorder is called before each step; nil means none.
	Recorder Recorder
	// Feeds observe calls.
	Feeds []*Feed
	// Dir returns the directory of an agent, "" being the main conversation: relative paths
	// start there. Nil leaves them to the tools.
	Dir func(agent string) string
	// Output keeps results that are too long; nil cuts them without keeping.
	Output Keeper
	// Missing says why there is no tool of a name that a call has; "" if nothing is known about
	// it. Nil knows nothing.
	Missing func(name string) string
	// MessageLimit is how many characters the results of one message may have together, in the
	// order of its calls; 0 means 400,000.
	MessageLimit int
	// MaxConcurrent is how many calls of a batch run at once; 0 means 128.
	MaxConcurrent int
	// SiblingErrors says what a failing shell does to the calls behind it.
	SiblingErrors SiblingErrors
	// CancelGrace is how long a cancelled call may take to return before it gets its
	// outcome without returning; 0 means 5 s.
	CancelGrace time.Duration
}

// SiblingErrors says what a failing call of a tool with StopsSiblings does to the calls
// queued behind it.
type SiblingErrors int

const (
	// Independent leaves the other calls alone: each succeeds or fails on its own.
	Independent SiblingErrors = iota
	// CancelSiblings cancels the calls queued behind the failed one, and aborts those that
	// run at the same time and may be interrupted.
	CancelSiblings
)

// New returns a scheduler. With nil options every call is denied, because no one can allow
// it.
func New(opts *Options) *Scheduler {
	s := new(Scheduler)
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Questions == nil {
		s.opts.Questions = NewQuestions(nil)
	}
	if s.opts.Output == nil {
		s.opts.Output = (*output.Store)(nil)
	}
	s.opts.MessageLimit = cmp.Or(s.opts.MessageLimit, 400_000)
	s.opts.MaxConcurrent = cmp.Or(s.opts.MaxConcurrent, 128)
	s.opts.CancelGrace = cmp.Or(s.opts.CancelGrace, 5*time.Second)
	return s
}

// Call runs one call, as if it were a message with a single call.
func (s *Scheduler) Call(ctx context.Context, tools *tool.Set, useID, name string, input []byte) *Outcome {
	b := s.Start(ctx, &BatchOptions{Tools: tools})
	b.Add(useID, name, input)
	b.End()
	var out *Outcome
	for out = range b.Outcomes() { // to the end, where the batch lets go of ctx
	}
	return out
}

// Start begins a batch. When ctx ends, queued calls are cancelled, and the contexts of
// running ones end, whatever they declare for an interrupt.
func (s *Scheduler) Start(ctx context.Context, opts *BatchOptions) *Batch {
	var o BatchOptions
	if opts != nil {
		o = *opts
	}
	if o.Tools == nil {
		o.Tools = tool.NewSet(nil, nil, nil, nil)
	}
	if o.CallID == nil {
		o.CallID = func(i int) string { return "call-" + strconv.Itoa(i) }
	}
	b := &Batch{
		opts: &s.opts, tools: o.Tools, agent: o.Agent, callID: o.CallID, repeats: o.Repeats,
		ctx: ctx, limit: cmp.Or(o.Limit, s.opts.MessageLimit), shown: o.Shown,
	}
	b.budget = b.limit
	b.moved.L = &b.mu
	b.unwatch = context.AfterFunc(ctx, func() { b.stop(context.Cause(ctx), everything) })
	return b
}

// DryRun takes a call up to its verdict, with the code that runs real calls. It runs
// nothing, asks no one, records nothing and shows the call to no hook.
func (s *Scheduler) DryRun(ctx context.Context, tools *tool.Set, name string, input []byte) DryRunResult {
	dry := New(&Options{Judge: s.opts.Judge, Dir: s.opts.Dir})
	b := dry.Start(ctx, &BatchOptions{Tools: tools})
	defer b.unwatch()
	f := b.newExecution("", name)
	defer f.cancel(nil)
	in := jsonstream.New(nil)
	in.Write(input)
	var seen DryRunResult
	seen.Refused = f.recoverPanic(func() *Outcome { return f.dryRun(in, &seen) })
	seen.Call = f.call
	return seen
}
