package runs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// An Index knows how the runs of a tenant are without asking for all of them again and again: it hears of each change.
// It looks after those with something to do, so what it costs follows the work, not the number of runs that are kept.
//
// It is safe for concurrent use.
type Index struct {
	runs    *Runs
	changed func(*Change)
	share   share // guarded by mu

	mu       sync.Mutex
	ready    bool
	known    map[string]known
	count    map[State]int
	active   map[string]*active   // queued, running or asking
	prompted map[string]time.Time // runs that got a prompt, and when
}

// known is what an index remembers of every run.
type known struct {
	state   State
	updated int64 // in nanoseconds
}

// active is a run with something to do.
type active struct {
	*Run
	queued, led time.Time // since when it waits, or is led
}

// A Change is what became of a run.
type Change struct {
	Now, Was State // Was is "" if it is new
	// Waited is how long it waited for the worker that has just taken it, Led how long workers led it that has just
	// come to rest; negative if that did not happen or is not known.
	Waited, Led time.Duration
	// TakenOver says that a worker has taken it that another one had.
	TakenOver bool
}

// NewIndex returns an index, which knows nothing until [Index.Keep] has run for a moment. Most is how many unfinished
// runs a user may have before others go first; 0 means any number. Changed hears of each change; nil means nobody does.
func NewIndex(r *Runs, most int, changed func(*Change)) *Index {
	if changed == nil {
		changed = func(*Change) {}
	}
	x := &Index{runs: r, changed: changed, share: share{most, map[string]expected{}}, prompted: map[string]time.Time{}}
	x.forget()
	return x
}

func (x *Index) forget() {
	x.ready, x.known, x.count, x.active = false, map[string]known{}, map[State]int{}, map[string]*active{}
}

// Keep keeps the index up to date until ctx ends. Failed is called with what goes wrong; it is tried again.
func (x *Index) Keep(ctx context.Context, failed func(error)) {
	for ok := true; ok; ok = engine.Pause(ctx, time.Second) == nil {
		if err := x.watch(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

func (x *Index) watch(ctx context.Context) error {
	sub, err := x.runs.conn.NATS.Subscribe("p.*."+x.runs.tenant+".*.*", func(m *nats.Msg) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.prompted[strings.Split(m.Subject, ".")[3]] = time.Now()
	})
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := errors.Join(x.servePages(ctx), x.serveShares(ctx)); err != nil {
		return err
	}
	x.mu.Lock()
	x.forget()
	x.mu.Unlock()
	return x.runs.watchAll(ctx, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.ready = true
	}, x.hear)
}

// hear takes in what is stored of a run. Most runs rest, and of those little is of interest.
func (x *Index) hear(v jetstream.KeyValueEntry, id string) {
	if v.Operation() != jetstream.KeyValuePut {
		x.note(id, nil)
		return
	}
	var brief struct {
		State   State     `json:"state"`
		Updated time.Time `json:"updated"`
	}
	if json.Unmarshal(v.Value(), &brief) != nil {
		return
	}
	run := &Run{ID: id, State: brief.State, Updated: brief.Updated}
	if run.State == Queued || leads(run.State) {
		var err error
		if run, err = x.runs.decode(v); err != nil {
			return
		}
	}
	x.note(id, run)
}

// note takes in how a run is; nil is one that was deleted.
func (x *Index) note(id string, run *Run) {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, had := x.known[id]
	if had {
		x.count[was.state]--
	}
	before := x.active[id]
	delete(x.share.expected, id)
	delete(x.active, id)
	if run == nil {
		delete(x.known, id)
		return
	}
	x.known[id] = known{run.State, run.Updated.UnixNano()}
	x.count[run.State]++
	now := &active{Run: run}
	c := &Change{Now: run.State, Was: was.state, Waited: -1, Led: -1}
	switch {
	case run.State == Queued && before != nil && before.State == Queued:
		now.queued = before.queued
	case run.State == Queued:
		now.queued = run.Updated
	case leads(run.State) && before != nil && leads(before.State):
		now.led = before.led
		c.TakenOver = run.Owner != before.Owner && run.Owner != "" && before.Owner != ""
	case leads(run.State):
		now.led = run.Updated
		if before != nil {
			c.Waited = run.Updated.Sub(before.queued)
		} else if at, ok := x.prompted[id]; ok {
			c.Waited = max(0, run.Updated.Sub(at))
		}
	case before != nil && leads(before.State):
		c.Led = run.Updated.Sub(before.led)
	}
	if run.State == Queued || leads(run.State) {
		x.active[id] = now
	}
	if x.ready {
		x.changed(c)
	}
}

// leads reports whether a worker leads a run in a state.
func leads(s State) bool { return s == Running || s == Asking }

// Counts returns how many runs there are in each state, and since when the one waits that has waited longest; zero if
// none does. Ok is false while that is not known.
func (x *Index) Counts() (count map[State]int, oldest time.Time, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, run := range x.active {
		if run.State == Queued && (oldest.IsZero() || run.queued.Before(oldest)) {
			oldest = run.queued
		}
	}
	return maps.Clone(x.count), oldest, x.ready
}

// Rested returns some runs that have had nothing to do since a time.
func (x *Index) Rested(since time.Time, most int) (ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, k := range x.known {
		if len(ids) < most && k.updated < since.UnixNano() && (k.state == Idle || k.state == Failed || k.state == Cancelled) {
			ids = append(ids, id)
		}
	}
	return ids
}

// settleTime is how long who sends a prompt may take to make the run's task.
const settleTime = 2 * time.Second

// due returns the runs to look at: those with something to do, and those that got a prompt a moment ago.
func (x *Index) due() (list []*Run, prompted []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ready {
		return nil, nil, ErrNotReady
	}
	for id, at := range x.prompted {
		if time.Since(at) < settleTime {
			continue
		}
		if delete(x.prompted, id); x.active[id] == nil {
			prompted = append(prompted, id)
		}
	}
	for _, run := range x.active {
		list = append(list, run.Run)
	}
	return list, prompted, nil
}

// ErrNotReady is the error of an index that does not know the runs yet.
var ErrNotReady = errors.New("the runs are not known yet")

// Sweep puts right what a worker that was killed between two steps may leave: a run with
// prompts and no task gets one, and one that has neither rests, for a worker gives its task
// back only when it has noted that the run rests. It returns how many tasks it made.
//
// It looks at runs with something to do, and at those that got a prompt since the index is kept. All looks for prompts of
// all others as well: a server does so when it starts and every hour.
func (x *Index) Sweep(ctx context.Context, all bool) (made int, err error) {
	list, prompted, err := x.due()
	if err != nil {
		return 0, err
	}
	if all {
		waiting, err := x.runs.waiting(ctx)
		if err != nil {
			return 0, err
		}
		for _, run := range list {
			delete(waiting, run.ID)
		}
		prompted = slices.AppendSeq(prompted, maps.Keys(waiting))
	}
	for _, id := range prompted {
		if run, err := x.runs.Get(ctx, id); err == nil {
			list = append(list, run)
		}
	}
	if len(list) == 0 {
		return 0, nil
	}
	return x.runs.sweep(ctx, list, func(id string) (bool, error) {
		pending, err := x.runs.Pending(ctx, id)
		return len(pending) > 0, err
	})
}
