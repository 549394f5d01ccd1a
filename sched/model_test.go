package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// The scheduler is held against a model that knows nothing of goroutines and
// locks: it plays a script event by event and says when each call starts and
// ends, and how. The same script then runs on the scheduler in virtual time, and
// every instant must be the same.

// A script is one message, and what happens while it is played.
type script struct {
	calls  []scripted
	abort  abort
	at     time.Duration // of the abort
	cancel bool          // SiblingErrors is CancelSiblings
	most   int           // MaxConcurrent
}

type abort int

const (
	noAbort abort = iota
	interrupted
	contextEnds
)

type scripted struct {
	opens   time.Duration // when its input begins
	arrives time.Duration // when its input is complete
	asks    time.Duration // how long the user thinks; 0: nobody is asked
	takes   time.Duration
	kind    kind
	safe    bool // concurrency-safe as the model sent it
	changed bool // a hook makes it unsafe
	blocks  bool // finishes when interrupted
	stops   bool // its failure cancels siblings
	deaf    bool // does not look at its context
}

type kind int

const (
	succeeds kind = iota
	fails
	crashes
	breaks // an error that is not for the model: it ends the turn
	isDenied
	endsTurn // denied by a user who wants no more
	isInvalid
	isUnknown
	kinds
)

// A life is what became of a call. Start is -1 for a call that did not run.
type life struct {
	Start, End time.Duration
	Status     sched.Status
}

const grace = 30 * time.Millisecond

func randomScript(r *rand.Rand) script {
	// Times are odd numbers of nanoseconds, drawn from a range so wide that no
	// two events of a script fall on the same instant.
	moment := func() time.Duration { return time.Duration(r.Int64N(int64(40*time.Millisecond))) | 1 }
	maybe := func(percent int) bool { return r.IntN(100) < percent }
	s := script{abort: abort(r.IntN(3)), at: moment() * 2, cancel: maybe(50), most: 1 + r.IntN(6)}
	var now time.Duration
	for range 1 + r.IntN(12) {
		now += moment() / 4
		c := scripted{opens: now, arrives: now + moment()/8, takes: moment(), safe: maybe(60), changed: maybe(15), blocks: maybe(30), stops: maybe(50), deaf: maybe(20)}
		if maybe(40) {
			c.kind = kind(r.IntN(int(kinds)))
		}
		if maybe(20) || c.kind == isDenied || c.kind == endsTurn {
			c.asks = moment() / 2
		}
		s.calls = append(s.calls, c)
	}
	return s
}

func TestTheSchedulerDoesWhatItsModelSays(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for seed := range rounds {
		s := randomScript(rand.New(rand.NewPCG(uint64(seed), 1)))
		want := expect(s)
		var got []life
		synctest.Test(t, func(t *testing.T) { got = play(t, s) })
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("script %d: %+v\n(-model +scheduler):\n%s", seed, s, d)
		}
	}
}

// play runs the script on the real scheduler and asserts, beside the lives, what
// a life does not show: one outcome per call in order, and nothing beside a call
// that must be alone.
func play(t *testing.T, s script) []life {
	began := time.Now()
	w := &world{t: t, script: s, began: began, lives: make([]life, len(s.calls)), running: make(map[int]bool), judged: make(map[int]time.Time)}
	for i := range w.lives {
		w.lives[i].Start = -1
	}
	feed := sched.NewFeed()
	sc := sched.New(&sched.Options{
		Judge: sched.JudgeFunc(w.judge), Askers: []sched.Asker{sched.AskerFunc(w.ask)}, Hooks: w, Recorder: w,
		Feeds: []*sched.Feed{feed}, MaxConcurrent: s.most, CancelGrace: grace, SiblingErrors: siblings(s.cancel),
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	b := sc.Start(ctx, &sched.BatchOptions{Tools: w.tools()})
	go func() {
		var arriving sync.WaitGroup // inputs overlap
		for i, c := range s.calls {
			time.Sleep(time.Until(began.Add(c.opens)))
			in := b.Open(fmt.Sprint(i), w.name(c))
			arriving.Go(func() {
				raw := w.input(c, i)
				in.Write(raw[:len(raw)/2])
				time.Sleep(time.Until(began.Add(c.arrives)))
				in.Write(raw[len(raw)/2:])
				in.Close()
			})
		}
		arriving.Wait()
		b.End()
	}()
	switch why := errors.New("enough"); s.abort {
	case interrupted:
		time.AfterFunc(s.at, func() { b.Interrupt(why) })
	case contextEnds:
		time.AfterFunc(s.at, func() { cancel(why) })
	}
	var order []string
	for out := range b.Outcomes() {
		order = append(order, out.UseID)
		if len(out.Result.Content) == 0 {
			t.Errorf("call %s has no content", out.UseID)
		}
	}
	time.Sleep(time.Second) // virtual: calls that were given up return, unheard
	feed.Close()
	w.check(order, feed)
	return w.lives
}

func siblings(cancel bool) sched.SiblingErrors {
	if cancel {
		return sched.CancelSiblings
	}
	return sched.Independent
}

// A world is everything around the scheduler while a script is played.
type world struct {
	t      *testing.T
	script script
	began  time.Time

	mu      sync.Mutex
	lives   []life
	ended   []int             // Finished records per call
	running map[int]bool      // the calls that run, and whether they must be alone
	judged  map[int]time.Time // when a recorded verdict allowed a call that does not wait; zero if it waits
}

type input struct {
	I     int  `json:"i"`
	Alone bool `json:"alone,omitempty"`
}

func (w *world) name(c scripted) string {
	if c.kind == isUnknown {
		return "Nothing"
	}
	return fmt.Sprintf("T_%t_%t", c.blocks, c.stops)
}

func (w *world) input(c scripted, i int) []byte {
	if c.kind == isInvalid {
		return []byte(`{"i":"x"}`)
	}
	return fmt.Appendf(nil, `{"i":%d}`, i)
}

func (w *world) tools() *tool.Set {
	var tools []tool.Tool
	for _, blocks := range []bool{false, true} {
		for _, stops := range []bool{false, true} {
			d := tool.Def[input, string]{
				Name:        w.name(scripted{blocks: blocks, stops: stops}),
				Description: "plays a scripted call",
				Marks: func(in input) tool.Marks {
					return tool.Marks{ConcurrencySafe: w.script.calls[in.I].safe && !in.Alone}
				},
				Run:           w.run,
				StopsSiblings: stops,
			}
			if blocks {
				d.OnInterrupt = tool.InterruptBlock
			}
			tools = append(tools, tool.New(d))
		}
	}
	return tool.NewSet(nil, tools, nil, nil)
}

func (w *world) run(ctx context.Context, _ *tool.Call, in input) (string, error) {
	c := w.script.calls[in.I]
	w.enter(in)
	defer w.leave(in.I)
	timer := time.NewTimer(c.takes)
	defer timer.Stop()
	if c.deaf {
		<-timer.C
	} else {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	switch c.kind {
	case fails:
		return "", tool.Errorf("no luck")
	case crashes:
		panic("boom")
	case breaks:
		return "", errors.New("disk on fire")
	}
	return "done", nil
}

func (w *world) enter(in input) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, judged := w.judged[in.I]; !judged {
		w.t.Errorf("call %d ran without a recorded verdict", in.I)
	}
	alone := !w.script.calls[in.I].safe || in.Alone
	for other, mustBeAlone := range w.running {
		if alone || mustBeAlone {
			w.t.Errorf("call %d ran beside call %d", in.I, other)
		}
	}
	w.running[in.I] = alone
	w.lives[in.I].Start = time.Since(w.began)
}

func (w *world) leave(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, i)
}

func (w *world) judge(_ context.Context, c tool.Case) tool.Verdict {
	if w.script.calls[index(c.Call)].asks > 0 {
		return tool.Verdict{Behavior: tool.Ask}
	}
	return tool.Verdict{Behavior: tool.Allow}
}

func (w *world) ask(ctx context.Context, c tool.Case, _ tool.Verdict) (tool.Verdict, error) {
	call := w.script.calls[index(c.Call)]
	timer := time.NewTimer(call.asks)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return tool.Verdict{}, ctx.Err()
	}
	if call.kind == isDenied || call.kind == endsTurn {
		return tool.Verdict{Behavior: tool.Deny, Interrupt: call.kind == endsTurn}, nil
	}
	return tool.Verdict{Behavior: tool.Allow}, nil
}

// hookTakes is how long a hook needs that changes an input: meanwhile, it is the turn of the
// calls behind.
const hookTakes = 2

func (w *world) Before(ctx context.Context, _ *tool.Tool, c *tool.Call) (tool.Verdict, []string) {
	if i := index(c); w.script.calls[i].changed {
		select {
		case <-time.After(hookTakes):
		case <-ctx.Done():
		}
		return tool.Verdict{Input: fmt.Appendf(nil, `{"i":%d,"alone":true}`, i)}, nil
	}
	return tool.Verdict{}, nil
}

func (w *world) Effects(context.Context, tool.Case) (tool.Verdict, []string) {
	return tool.Verdict{}, nil
}

func (w *world) After(context.Context, *tool.Tool, *tool.Call, tool.Result) (*tool.Result, []string) {
	return nil, nil
}

func (w *world) Record(_ context.Context, r sched.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := index(r.Call)
	if r.Step == sched.Judged && r.Verdict.Behavior == tool.Allow {
		w.judged[i] = time.Time{}
		if !r.Waits {
			w.judged[i] = time.Now()
		}
	}
	if at := w.judged[i]; r.Step == sched.Dispatched && !at.IsZero() && time.Since(at) > 0 {
		w.t.Errorf("call %d waited %v for its dispatch, which its verdict does not say", i, time.Since(at))
	}
	if r.Step != sched.Finished {
		return nil
	}
	w.lives[i].End, w.lives[i].Status = time.Since(w.began), r.Outcome.Status
	w.ended = append(w.ended, i)
	delete(w.running, i) // one that was given up may still be there
	return nil
}

func index(c *tool.Call) (i int) {
	fmt.Sscan(c.UseID, &i)
	return i
}

func (w *world) check(order []string, feed *sched.Feed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.script.calls {
		if i >= len(order) || order[i] != fmt.Sprint(i) {
			w.t.Fatalf("outcomes came as %v", order)
		}
	}
	slices.Sort(w.ended)
	if len(w.ended) != len(w.script.calls) || len(slices.Compact(w.ended)) != len(w.script.calls) {
		w.t.Errorf("ends were recorded for %v", w.ended)
	}
	last := make(map[string]sched.State)
	for e := range feed.Events(w.t.Context()) {
		if e.Progress == nil && e.State <= last[e.UseID] {
			w.t.Errorf("call %s went from %s to %s", e.UseID, last[e.UseID], e.State)
		}
		last[e.UseID] = e.State
	}
	for id, s := range last {
		if s != sched.Yielded {
			w.t.Errorf("call %s was left %s", id, s)
		}
	}
}
