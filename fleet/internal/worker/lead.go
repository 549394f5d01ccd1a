package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// lead leads the run of a task until it has nothing more to do, or the worker ends.
func (w *worker) lead(ctx context.Context, m jetstream.Msg) {
	id := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	stop := w.keepLease(m)
	defer stop()
	log := w.Log.With("run", id)
	log.Debug("taken")
	left, err := w.leadRun(ctx, id)
	stop()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	switch {
	case errors.Is(err, session.ErrFenced):
		log.Info("another worker has taken the run")
		w.yield(end, id)
		return // the other has the task
	case left:
		log.Info("returning the run to the queue", "error", err)
		_ = m.Nak() // or its lease ends
		return
	case err != nil:
		log.Error("could not execute the run", "error", err)
		wait, later := time.Second, new(laterError)
		if errors.As(err, &later) {
			wait = later.after
		}
		_ = m.NakWithDelay(wait)
		return
	}
	if err := m.DoubleAck(end); err != nil {
		return // the lease ends, and another worker finds nothing to do
	}
	// Who sent a prompt in the meantime found this task and made no other.
	if rest, err := w.runs.Pending(end, id); err == nil && len(rest) > 0 {
		if run, err := w.runs.Get(end, id); err == nil && run.Open() {
			_ = w.runs.Wake(end, run) // or the sweeper does
		}
	}
}

// patience is how long the engine is waited for at the end of a run.
const patience = 30 * time.Second

// leadRun leads a run. Left says that it has more to do and this worker ends.
//
// The journal is opened before the prompts are read: a prompt goes into the journal after the
// one before has its outcome, so what another worker does from here on is either known or
// makes the first entry of this one fail.
func (w *worker) leadRun(ctx context.Context, id string) (left bool, err error) {
	l := &leader{worker: w, run: &runs.Run{ID: id}}
	logs := journal.New(w.Conn, w.Tenant, func(e *journal.DamagedError) { l.damage.Store(e) })
	defer func() {
		if e := l.damage.Load(); e != nil {
			left, err = false, l.quarantine(e.Error())
		}
	}()
	if l.logs, err = logs.Hold(w.hard, id); err != nil {
		return false, err
	}
	_, pos := l.logs.Main()
	pending, err := w.runs.Pending(w.hard, id)
	if err != nil {
		return false, err
	}
	run, err := w.runs.Get(w.hard, id)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case !run.Open():
		return false, nil
	case len(pending) == 0:
		return false, w.runs.Rest(w.hard, run)
	}
	if away, err := w.elsewhere(run); away || err != nil {
		return false, err
	}
	if l.run, err = l.begin(pos); err != nil || l.run.State == runs.Quarantined {
		return false, err
	}
	if l.run.Ask {
		if err := w.runs.Withdraw(w.hard, id); err != nil {
			return false, err
		}
	}
	stop, err := l.hearDrops()
	if err != nil {
		return false, err
	}
	defer stop()
	if pending, err = l.wanted(pending); err != nil {
		return false, err
	}
	if l.fresh = pos == (session.Pos{}); !l.fresh && len(pending) > 0 {
		if pending, err = l.inspect(pending); err != nil {
			return false, err
		}
	}
	if err := l.prepare(); err != nil {
		return false, l.unprepared(pending, err)
	}
	defer func() {
		l.left = left
		if err != nil && l.files != nil && !left && !errors.Is(err, session.ErrFenced) {
			err = l.postpone(err, false)
		}
		l.leaveFiles(err)
	}()
	return l.turns(ctx, pending)
}

// yield takes this worker's name off a run that another one has continued meanwhile, whose
// name begin has replaced. The other one may have ended since: it left the run alone then,
// because it did not seem to lead it any more.
func (w *worker) yield(ctx context.Context, id string) {
	run, err := w.runs.Update(ctx, id, func(r *runs.Run) error {
		if r.Owner != w.Name {
			return runs.ErrUnchanged
		}
		r.Owner = ""
		return nil
	})
	if err != nil || run.Owner != "" {
		return // what is left undone, the sweeper does
	}
	if pending, err := w.runs.Pending(ctx, id); err == nil && len(pending) == 0 {
		_ = w.runs.Rest(ctx, run)
	}
}

// begin notes who leads the run, and puts it aside if that was tried too often in vain.
func (l *leader) begin(pos session.Pos) (*runs.Run, error) {
	w, tip := l.worker, fmt.Sprintf("%d %s", pos.Seq, hex.EncodeToString(pos.Tip[:]))
	return w.runs.Update(w.hard, l.run.ID, func(r *runs.Run) error {
		if !r.Open() {
			return fmt.Errorf("it is %s", r.State)
		}
		r.Attempts++
		r.Taken++
		if r.Tip != tip {
			r.Attempts, r.Postponed, r.Tip = 1, 0, tip
		}
		why := ""
		if r.Reason != "" {
			why = "; the last error: " + r.Reason
		}
		r.State, r.Owner, r.Reason = runs.Running, w.Name, ""
		w.bind(r)
		switch {
		case r.Attempts > w.Attempts:
			r.State, r.Owner = runs.Quarantined, ""
			r.Reason = fmt.Sprintf("every worker that took it stopped before it wrote anything (attempts: %d)%s", w.Attempts, why)
		case r.Taken > takenFactor*w.Attempts:
			r.State, r.Owner = runs.Quarantined, ""
			r.Reason = fmt.Sprintf("no worker that took it finished it (attempts: %d)%s", r.Taken-1, why)
		case r.Postponed > maxPostponed:
			r.State, r.Owner = runs.Quarantined, ""
			r.Reason = "its folder could not be set up for a day" + why
		}
		return nil
	})
}

// takenFactor is how many times as often a run may be taken if each worker gets some way: what
// a turn does may be what kills them.
const takenFactor = 3

// quarantine puts the run aside. One that is archived has no journal that could be damaged.
func (l *leader) quarantine(why string) error {
	_, err := l.worker.runs.Update(context.WithoutCancel(l.worker.hard), l.run.ID, func(r *runs.Run) error {
		if r.State == runs.Archived {
			return runs.ErrUnchanged
		}
		r.State, r.Owner, r.Reason = runs.Quarantined, "", why
		return nil
	})
	return err
}

// inspect looks how far a worker came that was lost. It returns the prompts that are still to
// be answered: one goes into the journal after the one before has its outcome, so those
// before the last in the journal are done, even if a server that is behind does not say so.
func (l *leader) inspect(pending []runs.Prompt) ([]runs.Prompt, error) {
	names := make([]string, len(pending))
	for i, p := range pending {
		names[i] = `"` + p.UUID + `"`
	}
	at, err := l.logs.Find(l.worker.hard, pending[0].Kept, names)
	if err != nil || at < 0 {
		return pending, err
	}
	l.resumed = true
	s, err := session.OpenLogs(l.logs, l.worker.Dir).Resume(l.worker.hard, l.run.ID, nil)
	if err != nil {
		return nil, err
	}
	history := s.Restored().History
	last, err := history.Message(history.Len() - 1)
	if err != nil {
		return nil, err
	}
	l.finished = last.Role == model.Assistant
	for _, b := range last.Content {
		l.said = b.Text
		l.finished = l.finished && b.Type != model.ToolUse
	}
	return pending[at:], nil
}
