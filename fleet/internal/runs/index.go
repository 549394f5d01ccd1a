package runs

import (
	"context"
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
	runs *Runs

	mu       sync.Mutex
	ready    bool
	states   map[string]State
	active   map[string]*Run      // queued, running or asking
	prompted map[string]time.Time // runs that got a prompt, and when
}

// NewIndex returns an index, which knows nothing until [Index.Keep] has run for a moment.
func NewIndex(r *Runs) *Index {
	return &Index{runs: r, states: map[string]State{}, active: map[string]*Run{}, prompted: map[string]time.Time{}}
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
	x.mu.Lock()
	x.ready, x.states, x.active = false, map[string]State{}, map[string]*Run{}
	x.mu.Unlock()
	return x.runs.Watch(ctx, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.ready = true
	}, x.note)
}

// note takes in how a run is; nil is one that was deleted.
func (x *Index) note(id string, run *Run) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.active, id)
	if run == nil {
		delete(x.states, id)
		return
	}
	x.states[id] = run.State
	switch run.State {
	case Queued, Running, Asking:
		x.active[id] = run
	}
}

// Counts returns how many runs there are in each state, and since when the one waits that has waited longest; zero if
// none does. Ok is false while that is not known.
func (x *Index) Counts() (count map[State]int, oldest time.Time, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	count = map[State]int{}
	for _, s := range x.states {
		count[s]++
	}
	for _, run := range x.active {
		if run.State == Queued && (oldest.IsZero() || run.Updated.Before(oldest)) {
			oldest = run.Updated
		}
	}
	return count, oldest, x.ready
}

// settleTime is how long who sends a prompt may take to make the run's task.
const settleTime = 2 * time.Second

// due returns the runs to look at: those with something to do, and those that got a prompt a moment ago.
func (x *Index) due() (list []*Run, prompted []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ready {
		return nil, nil
	}
	for id, at := range x.prompted {
		if time.Since(at) < settleTime {
			continue
		}
		if delete(x.prompted, id); x.active[id] == nil {
			prompted = append(prompted, id)
		}
	}
	return slices.Collect(maps.Values(x.active)), prompted
}

// Sweep does what [Runs.Sweep] does for the runs that may need it.
func (x *Index) Sweep(ctx context.Context) (made int, err error) {
	list, prompted := x.due()
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

// sweep looks at some runs. Waits tells whether one has prompts without outcomes.
func (r *Runs) sweep(ctx context.Context, list []*Run, waits func(id string) (bool, error)) (made int, err error) {
	tasks, err := r.tasks(ctx)
	if err != nil {
		return 0, err
	}
	absent := map[string]bool{}
	for _, run := range list {
		if tasks[run.task()] > 0 || !run.Open() {
			if run.State == Queued {
				if err := r.noteWait(ctx, run, absent); err != nil {
					return made, err
				}
			}
			continue
		}
		has, err := waits(run.ID)
		if err == nil && !has {
			err = r.Rest(ctx, run)
		} else if err == nil {
			err = r.Wake(ctx, run)
			made++
		}
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// tasks are the subjects of all tasks.
func (r *Runs) tasks(ctx context.Context) (map[string]uint64, error) {
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	s, err := r.conn.Stream(ctx, engine.Tasks)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}
