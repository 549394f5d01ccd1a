package worker

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

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
