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
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/tool"
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

// Tools returns the tools of the schedule.
func (s *Schedule) Tools() []tool.Tool {
	return []tool.Tool{s.wakeup(), s.cronCreate(), s.cronList(), s.cronDelete()}
}

// The least and the most that a wake-up may be ahead, in seconds.
const minDelay, maxDelay = 60, 3600

var own = tool.Marks{ReadOnly: true, Effect: tool.Idempotent} // it is the conversation's own business, so plan mode has it too

func allowed[In any](context.Context, *tool.Call, In) tool.Verdict {
	return tool.Verdict{Behavior: tool.Allow, Reason: "it only sends this conversation a prompt later"}
}

// refuse refuses calls where nothing can continue later: outside of a conversation, and
// of agents, which have ended when the time comes.
func (s *Schedule) refuse(c *tool.Call) *tool.Problem {
	s.mu.Lock()
	started := s.started
	s.mu.Unlock()
	switch {
	case !started:
		return &tool.Problem{Message: "There is no conversation here that can continue later. Call " + c.Tool + " in a session."}
	case c.Agent == "":
		return nil
	}
	return &tool.Problem{Message: c.Tool + " is for the main conversation: an agent ends before the prompt is due. Report what should be done, and when."}
}

func (s *Schedule) wakeup() tool.Tool {
	return tool.New(tool.Def[wakeupInput, wakeupOutput]{
		Name:        "ScheduleWakeup",
		SearchHint:  "wake up later continue wait delay timer loop remind schedule",
		Description: wakeupText,
		Marks:       func(wakeupInput) tool.Marks { return own },
		Validate: func(_ context.Context, c *tool.Call, in wakeupInput) *tool.Problem {
			switch {
			case in.Stop:
			case in.Delay <= 0 || strings.TrimSpace(in.Prompt) == "":
				return &tool.Problem{Message: "delaySeconds and prompt are required: when to wake up, and what to do then. To cancel the wake-up that is set, set stop instead."}
			case len(in.Prompt) > maxPrompt:
				return &tool.Problem{Message: fmt.Sprintf("prompt has %d bytes; the maximum is %d. Give a shorter one.", len(in.Prompt), maxPrompt)}
			}
			return s.refuse(c)
		},
		Permission: allowed[wakeupInput],
		Run:        s.runWakeup,
		Render:     s.renderWakeup,
		Summarize: func(in wakeupInput) string {
			if in.Stop {
				return "cancel"
			}
			return fmt.Sprintf("in %v: %s", time.Duration(in.Delay)*time.Second, in.Reason)
		},
		Deferred: true,
	})
}

// runWakeup sets the one wake-up that there is, or cancels it.
func (s *Schedule) runWakeup(_ context.Context, _ *tool.Call, in wakeupInput) (out wakeupOutput, err error) {
	now := s.opts.Clock.Now()
	s.change(func(jobs []Job) []Job {
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool {
			if j.Cron == "" {
				out.Cancelled++
			}
			return j.Cron == ""
		})
		if in.Stop {
			out.Stopped = true
			return jobs
		}
		out.Cancelled = 0 // the new one replaces it
		delay := min(max(in.Delay, minDelay), maxDelay)
		out.Delay, out.Clamped = int(delay), delay != in.Delay
		at := now.Add(time.Duration(delay) * time.Second)
		out.ScheduledFor = at.UnixMilli()
		return append(jobs, Job{ID: newID(), Human: "once", Prompt: in.Prompt, Reason: in.Reason, Created: now, Next: at})
	})
	return out, nil
}

func (s *Schedule) renderWakeup(out wakeupOutput) tool.Result {
	switch {
	case out.Stopped && out.Cancelled == 0:
		return tool.Text("No wake-up was set.")
	case out.Stopped:
		return tool.Text("The wake-up was cancelled.")
	}
	text := fmt.Sprintf("Next wake-up at %s (in %d s).", time.UnixMilli(out.ScheduledFor).In(s.opts.Clock.Now().Location()).Format("15:04:05"), out.Delay)
	if out.Clamped {
		text += fmt.Sprintf(" delaySeconds was set to %d: it must be from %d to %d.", out.Delay, minDelay, maxDelay)
	}
	return tool.Text(text)
}

func (s *Schedule) cronCreate() tool.Tool {
	return tool.New(tool.Def[createInput, createOutput]{
		Name:        "CronCreate",
		SearchHint:  "schedule recurring prompt cron job every hour day repeat later",
		Description: createText,
		Marks:       func(createInput) tool.Marks { return tool.Marks{ReadOnly: true} },
		Validate: func(_ context.Context, c *tool.Call, in createInput) *tool.Problem {
			if _, err := parse(in.Cron); err != nil {
				return &tool.Problem{Message: fmt.Sprintf("cron is invalid: %v. Give an expression such as 30 9 * * 1-5.", err)}
			}
			return s.refuse(c)
		},
		Permission: allowed[createInput],
		Run:        s.runCreate,
		Render: func(o createOutput) tool.Result {
			how := "once"
			if o.Recurring {
				how = o.Human + ", for 7 days"
			}
			return tool.Text(fmt.Sprintf("Job %s is set: %s, next at %s.", o.ID, how, time.UnixMilli(o.Next).In(s.opts.Clock.Now().Location()).Format("2006-01-02 15:04")))
		},
		Summarize: func(in createInput) string { return human(in.Cron) + ": " + in.Prompt },
		Deferred:  true,
	})
}

func (s *Schedule) runCreate(_ context.Context, _ *tool.Call, in createInput) (out createOutput, err error) {
	c, err := parse(in.Cron)
	if err != nil {
		return out, tool.Errorf("cron is invalid: %w", err)
	}
	now := s.opts.Clock.Now()
	j := Job{
		ID: newID(), Cron: in.Cron, Human: human(in.Cron), Prompt: in.Prompt, Recurring: in.Recurring == nil || *in.Recurring, Durable: in.Durable, Created: now, Next: c.next(now),
	}
	full := false
	s.change(func(jobs []Job) []Job {
		if full = len(jobs) >= maxJobs; full {
			return jobs
		}
		return append(slices.Clone(jobs), j)
	})
	if full {
		return out, tool.Errorf("There are already %d jobs, the maximum. Remove one with CronDelete first.", maxJobs)
	}
	return createOutput{ID: j.ID, Human: j.Human, Recurring: j.Recurring, Durable: j.Durable, Next: j.Next.UnixMilli()}, nil
}

func (s *Schedule) cronList() tool.Tool {
	return tool.New(tool.Def[struct{}, listOutput]{
		Name:        "CronList",
		SearchHint:  "list scheduled jobs cron wake-ups timers",
		Description: "Lists the prompts scheduled for this conversation, recurring or not, with their ids and next times.",
		Marks:       func(struct{}) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure} },
		Permission:  allowed[struct{}],
		Run: func(context.Context, *tool.Call, struct{}) (listOutput, error) {
			return listOutput{append([]Job{}, s.Jobs()...)}, nil
		},
		Render: func(o listOutput) tool.Result {
			if len(o.Jobs) == 0 {
				return tool.Text("Nothing is scheduled.")
			}
			var lines []string
			for _, j := range o.Jobs {
				lines = append(lines, fmt.Sprintf("%s: %s, next at %s: %s", j.ID, j.Human, j.Next.Format("2006-01-02 15:04:05"), j.Prompt))
			}
			return tool.Text(strings.Join(lines, "\n"))
		},
		Deferred: true,
	})
}

func (s *Schedule) cronDelete() tool.Tool {
	return tool.New(tool.Def[deleteInput, deleteInput]{
		Name:        "CronDelete",
		SearchHint:  "delete remove cancel scheduled job cron",
		Description: "Removes a scheduled prompt by its id.",
		Marks:       func(deleteInput) tool.Marks { return own },
		Permission:  allowed[deleteInput],
		Run: func(_ context.Context, _ *tool.Call, in deleteInput) (deleteInput, error) {
			found := false
			s.change(func(jobs []Job) []Job {
				return slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool {
					found = found || j.ID == in.ID
					return j.ID == in.ID
				})
			})
			if !found {
				return in, tool.Errorf("There is no job with the id %q. CronList shows the jobs.", in.ID)
			}
			return in, nil
		},
		Render:    func(o deleteInput) tool.Result { return tool.Text("Job " + o.ID + " was removed.") },
		Summarize: func(in deleteInput) string { return in.ID },
		Deferred:  true,
	})
}

func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// fields are the bounds and names of the five.
var fields = []struct {
	name     string
	min, max int
	names    string // of its numbers, from min on
}{
	{"minute", 0, 59, ""}, {"hour", 0, 23, ""}, {"day of the month", 1, 31, ""},
	{"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"}, {"day of the week", 0, 7, "sun mon tue wed thu fri sat"},
}

// parse reads an expression. One that never comes is refused.
func parse(text string) (c cron, err error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) != len(fields) {
		return c, fmt.Errorf("%q has %d fields instead of 5: minute, hour, day of the month, month, day of the week", text, len(words))
	}
	var bits [5]uint64
	for i, word := range words {
		if bits[i], err = parseField(word, i); err != nil {
			return c, fmt.Errorf("%s %q: %w", fields[i].name, word, err)
		}
	}
	c = cron{bits[0], bits[1], bits[2], bits[3], bits[4], strings.HasPrefix(words[2], "*"), strings.HasPrefix(words[4], "*")}
	if c.weekday&(1<<7) != 0 { // Sunday is 0 as well
		c.weekday |= 1
	}
	if c.next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return c, errors.New("that time never occurs")
	}
	return c, nil
}

// parseField reads a list of numbers, ranges and steps.
func parseField(word string, i int) (bits uint64, err error) {
	f := fields[i]
	for part := range strings.SplitSeq(word, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, errors.New("a step must be 1 or more")
			}
		}
		from, to := f.min, f.max
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if from, err = number(first, i); err != nil {
				return 0, err
			}
			if ranged {
				if to, err = number(last, i); err != nil {
					return 0, err
				}
			} else if !stepped {
				to = from
			}
		}
		if from > to {
			return 0, fmt.Errorf("the range is in reverse order: %d is after %d", from, to)
		}
		for n := from; n <= to; n += step {
			bits |= 1 << n
		}
	}
	return bits, nil
}

func number(text string, i int) (int, error) {
	f := fields[i]
	for n, name := range strings.Fields(f.names) {
		if text == name {
			return f.min + n, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, f.min, f.max)
	}
	return n, nil
}

// human says in words when a cron comes, where that is easily said; otherwise it is
// the expression.
func human(text string) string {
	w := strings.Fields(text)
	if len(w) != 5 {
		return text
	}
	minute, errMinute := strconv.Atoi(w[0])
	hour, errHour := strconv.Atoi(w[1])
	rest := strings.Join(w[2:], " ")
	steps, isStep := strings.CutPrefix(w[0], "*/")
	step, _ := strconv.Atoi(steps)
	switch {
	case (w[0] == "*" || isStep && step == 1) && w[1] == "*" && rest == "* * *":
		return "every minute"
	case isStep && step > 1 && step < 60 && 60%step == 0 && w[1] == "*" && rest == "* * *": // others start again with each hour
		return fmt.Sprintf("every %d minutes", step)
	case errMinute == nil && w[1] == "*" && rest == "* * *":
		return fmt.Sprintf("every hour at minute %d", minute)
	case errMinute == nil && errHour == nil && rest == "* * *":
		return fmt.Sprintf("every day at %d:%02d", hour, minute)
	case errMinute == nil && errHour == nil && rest == "* * 1-5":
		return fmt.Sprintf("every weekday at %d:%02d", hour, minute)
	}
	return text
}
