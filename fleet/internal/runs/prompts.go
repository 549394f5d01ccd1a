package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// The prompts are what runs have to do, and what came of it.
type prompts struct {
	questions
}

// Prompted reports whether a run has a prompt.
func (r *prompts) Prompted(ctx context.Context, id, prompt string) (has bool, err error) {
	if !engine.Word(id) || !engine.Word(prompt) {
		return false, nil
	}
	err = engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
		if err != nil {
			return true, err
		}
		_, err = s.GetLastMsgForSubject(ctx, r.subject("p", id, prompt))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, nil
		}
		has = err == nil
		return true, err
	})
	return has, err
}

// Outcomes calls each with the outcomes that prompts of a run get, until ctx ends.
func (r *prompts) Outcomes(ctx context.Context, id string, each func(*Outcome)) error {
	sub, err := r.conn.NATS.Subscribe(r.subject("r", id, "*"), func(m *nats.Msg) {
		out := new(Outcome)
		if json.Unmarshal(m.Data, out) == nil {
			each(out)
		}
	})
	if err != nil {
		return fmt.Errorf("wait for outcomes: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() }) // the connection may be gone
	return nil
}

// Settle gives a prompt its outcome, unless it has one. It waits for a server whose disk is full.
func (r *prompts) Settle(ctx context.Context, id, prompt string, out *Outcome) error {
	raw, err := json.Marshal(out)
	if err == nil {
		err = engine.Try(ctx, func(attempt context.Context) (bool, error) {
			if r.asks() {
				_, err := r.request(attempt, askSettle, &request{ID: id, Prompt: prompt, Value: raw})
				return !isRefused(err), err
			}
			err := r.once(ctx, r.subject("r", id, prompt), raw)
			return engine.NoRoom(err), err
		})
	}
	if err != nil {
		return fmt.Errorf("store the outcome: %w", err)
	}
	return nil
}

// Outcome returns the outcome of a prompt. The error is [ErrPending] if it has none yet.
func (r *prompts) Outcome(ctx context.Context, id, prompt string) (*Outcome, error) {
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
	if err != nil {
		return nil, err
	}
	m, err := s.GetLastMsgForSubject(ctx, r.subject("r", id, prompt))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, ErrPending
	}
	if err != nil {
		return nil, err
	}
	out := new(Outcome)
	return out, json.Unmarshal(m.Data, out)
}

// Await waits for the outcome of a prompt. A run that was put aside has an error instead.
func (r *prompts) Await(ctx context.Context, id, prompt string) (*Outcome, error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		out, err := r.Outcome(ctx, id, prompt)
		if err == nil {
			return out, nil
		}
		if errors.Is(err, ErrPending) && wait > 100*time.Millisecond {
			if run, err := r.Get(ctx, id); err == nil && !run.Open() {
				return nil, fmt.Errorf("run %s is %s: %s", id, run.State, run.Reason)
			}
		}
		if engine.Pause(ctx, wait) != nil {
			return nil, fmt.Errorf("stopped waiting for run %s: %w", id, errors.Join(ctx.Err(), err))
		}
	}
}

// led reports whether the owner of a run is there and leads it.
func (r *prompts) led(ctx context.Context, run *Run) bool {
	ctx, cancel := context.WithTimeout(ctx, ledTime)
	defer cancel()
	m, err := r.conn.NATS.RequestWithContext(ctx, r.Leads(run.ID), nil)
	return err == nil && string(m.Data) == run.Owner
}

// settleFor gives a prompt its outcome for the worker that leads its run.
func (r *prompts) settleFor(ctx context.Context, key string, q *request) error {
	if !engine.Word(q.ID) || !engine.Word(q.Prompt) {
		return refuse("%q of %q is not a prompt", q.Prompt, q.ID)
	}
	run, err := r.Get(ctx, q.ID)
	if err != nil {
		return err
	}
	if !owns(key, run.Owner) && run.Open() {
		return refuse("the run is led by %q", run.Owner)
	}
	return r.once(ctx, r.subject("r", q.ID, q.Prompt), q.Value)
}

// Queue returns the tasks of a class and priority, which wait for a worker. A task that nobody confirms for as long as
// lease is given to another worker.
func (r *prompts) Queue(ctx context.Context, class, priority string, lease time.Duration) (jetstream.Consumer, error) {
	name := engine.QueueName(class, priority)
	if !r.asks() {
		return r.conn.Consumer(ctx, name, Tasks(class, priority), lease)
	}
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	var queue jetstream.Consumer
	err := engine.Try(ctx, func(ctx context.Context) (again bool, err error) {
		if _, err = r.request(ctx, askQueue, &request{Class: class, Priority: priority, Lease: lease}); err == nil {
			queue, err = r.conn.JS.Consumer(ctx, engine.Tasks, name)
		}
		return !isRefused(err), err
	})
	if err != nil {
		return nil, fmt.Errorf("take tasks: %w", err)
	}
	return queue, nil
}

// Wake makes a task for a run, unless there is one.
func (r *prompts) Wake(ctx context.Context, run *Run) error {
	const full = 10077 // the run has a task; or there is no room for it, and the sweeper makes it later
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		if r.asks() {
			_, err := r.request(ctx, askWake, &request{ID: run.ID})
			return true, err
		}
		_, err := r.conn.JS.Publish(ctx, run.task(), []byte(r.tenant), jetstream.WithRetryAttempts(0))
		if code(err) == full || engine.NoRoom(err) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("could not queue run %s: %w", run.ID, err)
	}
	return nil
}

// Tasked reports whether a run has a task: one that waits for a worker, or that a worker has not given
// back yet because it still writes what the run has done.
func (r *prompts) Tasked(ctx context.Context, id string) (has bool, err error) {
	err = engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := r.conn.Stream(ctx, engine.Tasks)
		if err != nil {
			return true, err
		}
		// The class may have changed since the task was made.
		info, err := s.Info(ctx, jetstream.WithSubjectFilter("task.*.*."+id))
		if err == nil {
			has = len(info.State.Subjects) > 0
		}
		return true, err
	})
	if err != nil {
		return false, fmt.Errorf("could not check whether run %s is queued: %w", id, err)
	}
	return has, nil
}

// Pending returns the prompts of a run that have no outcome, in the order in which they
// were sent.
func (r *prompts) Pending(ctx context.Context, id string) ([]Prompt, error) {
	var list []Prompt
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		list = nil
		s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
		if err != nil {
			return true, err
		}
		sent, err := s.Info(ctx, jetstream.WithSubjectFilter(r.subject("p", id, "*")))
		if err != nil {
			return true, err
		}
		done, err := s.Info(ctx, jetstream.WithSubjectFilter(r.subject("r", id, "*")))
		if err != nil {
			return true, err
		}
		for subject := range sent.State.Subjects {
			if _, ok := done.State.Subjects["r"+subject[1:]]; ok {
				continue
			}
			m, err := s.GetLastMsgForSubject(ctx, subject)
			if err != nil {
				return true, err
			}
			p := Prompt{seq: m.Sequence, Kept: m.Time}
			if err := json.Unmarshal(m.Data, &p); err != nil {
				return false, fmt.Errorf("a prompt is damaged: %w", err)
			}
			list = append(list, p)
		}
		return false, nil
	})
	if err != nil {
		return nil, fmt.Errorf("could not read the prompts of run %s: %w", id, err)
	}
	slices.SortFunc(list, func(a, b Prompt) int { return cmp.Compare(a.seq, b.seq) })
	return list, nil
}
