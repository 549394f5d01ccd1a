package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// Live is the subject at which a session that is being led can be watched.
func (r *Runs) Live(id string) string { return "live." + r.tenant + "." + id }

// Begin makes a run without a prompt. One that is there already stays as it is.
func (r *Runs) Begin(ctx context.Context, s *Submission) (*Run, error) {
	if !engine.Word(s.ID) {
		return nil, fmt.Errorf("cannot start a run: %q is not a valid run id", s.ID)
	}
	if s.Workspace != nil {
		if err := s.Workspace.check(); err != nil {
			return nil, fmt.Errorf("cannot start a run: %w", err)
		}
	}
	if err := r.checkRoom(ctx); err != nil {
		return nil, fmt.Errorf("could not start a run: %w", err)
	}
	run := s.run(s.ID, "")
	run.State = Idle
	run, err := r.create(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("could not start a run: %w", err)
	}
	return run, nil
}

// Reopen makes a run that rests one that waits for a worker: it is about to get a prompt. One
// that was cancelled takes prompts again. Undo is for a prompt that could not be kept: it makes
// the run what it was, unless it has changed since, and returns what it is.
func (r *Runs) Reopen(ctx context.Context, id string) (run *Run, undo func(context.Context) (*Run, error), err error) {
	var was Run
	run, err = r.Update(ctx, id, func(run *Run) error {
		was = *run
		switch run.State {
		case Cancelled:
			run.Attempts, run.Taken, run.Postponed = 0, 0, 0
		case Idle, Failed:
		default:
			return ErrUnchanged
		}
		run.State, run.Reason = Queued, ""
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	reopened := run.revision
	return run, func(ctx context.Context) (*Run, error) {
		return r.Update(ctx, id, func(run *Run) error {
			if run.revision != reopened || reopened == was.revision {
				return ErrUnchanged
			}
			run.State, run.Reason, run.Attempts, run.Taken, run.Postponed = was.State, was.Reason, was.Attempts, was.Taken, was.Postponed
			return nil
		})
	}, nil
}

// Prompted reports whether a run has a prompt.
func (r *Runs) Prompted(ctx context.Context, id, prompt string) (has bool, err error) {
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

// Delete removes a run and its prompts. Its journal is another's to remove.
func (r *Runs) Delete(ctx context.Context, id string) error {
	if err := r.note(ctx, "", "delete", id, ""); err != nil {
		return fmt.Errorf("could not delete run %s: %w", id, err)
	}
	if err := r.Cancel(ctx, id); err != nil {
		return err
	}
	if err := r.Withdraw(ctx, id); err != nil {
		return err
	}
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		kv, err := r.bucket(ctx, id)
		if err == nil {
			err = kv.Delete(ctx, r.key(id))
		}
		return true, err
	})
	if err == nil {
		err = r.DropPrompts(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("could not delete run %s: %w", id, err)
	}
	return nil
}

// DropPrompts removes the prompts of a run that takes no more, and their outcomes.
func (r *Runs) DropPrompts(ctx context.Context, id string) error {
	for _, kind := range []string{"p", "r"} {
		err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
			s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
			if err == nil {
				err = s.Purge(ctx, jetstream.WithPurgeSubject(r.subject(kind, id, "*")))
			}
			return true, err
		})
		if err != nil {
			return fmt.Errorf("could not remove the prompts of run %s: %w", id, err)
		}
	}
	return nil
}

// Watch calls each with every run as it is, and again when it changes; a run that was
// deleted is nil. It returns when ctx ends or the engine ends it. Ready is called when all
// are known.
func (r *Runs) Watch(ctx context.Context, ready func(), each func(id string, run *Run)) error {
	return r.watchAll(ctx, ready, func(v jetstream.KeyValueEntry, id string) {
		if v.Operation() != jetstream.KeyValuePut {
			each(id, nil)
		} else if run, err := r.decode(v); err == nil {
			each(id, run)
		}
	})
}

// watchAll is [Runs.Watch] for what is stored of runs.
func (r *Runs) watchAll(ctx context.Context, ready func(), each func(v jetstream.KeyValueEntry, id string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var known sync.WaitGroup
	ended := make(chan error, engine.Shards)
	for n := range uint32(engine.Shards) {
		known.Add(1)
		go func() {
			done := sync.OnceFunc(known.Done)
			defer done() // after what it has ended with: nothing waits for it
			ended <- r.watch(ctx, engine.Runs(n), done, each)
		}()
	}
	all := make(chan struct{})
	go func() {
		known.Wait()
		close(all)
	}()
	for {
		select {
		case <-all:
			all = nil
			select {
			case err := <-ended:
				return err // all that are left are known
			default:
				ready()
			}
		case err := <-ended:
			return err
		}
	}
}

// WatchQuestions is [Runs.Watch] for questions; one that was withdrawn is nil.
func (r *Runs) WatchQuestions(ctx context.Context, ready func(), each func(id string, q *Question)) error {
	return r.watch(ctx, engine.Questions, ready, func(v jetstream.KeyValueEntry, id string) {
		if v.Operation() != jetstream.KeyValuePut {
			each(id, nil)
		} else if q, err := r.decodeQuestion(v); err == nil {
			each(id, q)
		}
	})
}

func (r *Runs) watch(ctx context.Context, bucket string, ready func(), each func(jetstream.KeyValueEntry, string)) error {
	kv, err := r.conn.Bucket(ctx, bucket)
	if err != nil {
		return err
	}
	w, err := kv.Watch(ctx, r.tenant+".>")
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case v, ok := <-w.Updates():
			switch {
			case !ok:
				return errors.New("the NATS server stopped sending changes")
			case v == nil:
				ready()
			default:
				each(v, strings.TrimPrefix(v.Key(), r.tenant+"."))
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Outcomes calls each with the outcomes that prompts of a run get, until ctx ends.
func (r *Runs) Outcomes(ctx context.Context, id string, each func(*Outcome)) error {
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
