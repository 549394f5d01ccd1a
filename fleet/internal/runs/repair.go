package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// Repaired is what [Runs.Repair] did.
type Repaired struct {
	Runs  int      `json:"runs"`            // that are there
	Made  []string `json:"made,omitempty"`  // again, from what was kept with their prompts
	Aside []string `json:"aside,omitempty"` // quarantined, because it is not known how they were submitted
	Tasks int      `json:"tasks"`           // that were missing

	open []*Run
}

// Repair makes the list of runs again where it is damaged: a run of which only prompts or a journal are left gets its
// place back. What a run was submitted with is kept with its prompts. If that is lost, too, the run is quarantined in the
// folder that its journal names (see folder), without its flags, so that nothing runs with other rights than before. A
// run that was deleted stays so. Repairing again changes nothing.
func (r *Runs) Repair(ctx context.Context, folder func(ctx context.Context, id string) (string, error)) (*Repaired, error) {
	done := &Repaired{}
	for n := range uint32(engine.Shards) {
		found, err := r.mentioned(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("repair: %w", err)
		}
		for _, id := range slices.Sorted(maps.Keys(found)) {
			if err := r.repair(ctx, id, found[id], folder, done); err != nil {
				return nil, fmt.Errorf("repair run %s: %w", id, err)
			}
		}
	}
	waiting, err := r.waiting(ctx)
	if err == nil {
		active := slices.DeleteFunc(done.open, func(run *Run) bool { return !waiting[run.ID] && run.State != Queued && !leads(run.State) })
		done.Tasks, err = r.sweep(ctx, active, func(id string) (bool, error) { return waiting[id], nil })
	}
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	return done, nil
}

// mentioned are the runs of a shard of which there are prompts or journals, with the subjects of the prompts.
func (r *Runs) mentioned(ctx context.Context, shard uint32) (map[string][]string, error) {
	found := map[string][]string{}
	for _, part := range [][2]string{{engine.Sessions(shard), shardSubject("p", shard, r.tenant, "*", "*")}, {engine.Journals(shard), shardSubject("j", shard, r.tenant, "*", "*")}} {
		s, err := r.conn.Stream(ctx, part[0])
		if err != nil {
			return nil, err
		}
		listing, cancel := context.WithTimeout(ctx, listTime)
		info, err := s.Info(listing, jetstream.WithSubjectFilter(part[1]))
		cancel()
		if err != nil {
			return nil, err
		}
		for subject := range info.State.Subjects {
			id := strings.Split(subject, ".")[3]
			if found[id] = found[id]; strings.HasPrefix(subject, "p.") {
				found[id] = append(found[id], subject)
			}
		}
	}
	return found, nil
}

// repair makes a run again that is not there.
func (r *Runs) repair(ctx context.Context, id string, prompts []string, folder func(context.Context, string) (string, error), done *Repaired) error {
	switch run, err := r.Get(ctx, id); {
	case err == nil:
		done.Runs++
		if len(prompts) > 0 && run.Open() {
			done.open = append(done.open, run)
		}
		return nil
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if deleted, err := r.deleted(ctx, id); err != nil || deleted {
		return err
	}
	run, err := r.keptWith(ctx, id, prompts)
	if err != nil {
		return err
	}
	pending, err := r.Pending(ctx, id)
	if err != nil {
		return err
	}
	list := &done.Made
	if run != nil {
		run.State, run.Owner, run.Reason, run.Attempts, run.Taken = Idle, "", "", 0, 0
		if len(pending) > 0 {
			run.State = Queued
		}
	} else {
		dir, err := folder(ctx, id)
		if err != nil {
			return err
		}
		list = &done.Aside
		run = &Run{Class: AnyWorker, State: Quarantined, Dir: dir, Created: time.Now().UTC(), Reason: "its record was lost, and with it the flags that it was submitted with. 'haft-fleet runs retry' continues it without flags"}
	}
	run.ID, run.revision = id, 0
	if run, err = r.create(ctx, run); err != nil {
		return err
	}
	done.open = append(done.open, run)
	*list = append(*list, id)
	done.Runs++
	return nil
}

// deleted reports whether a run was deleted by a user: that leaves a mark.
func (r *Runs) deleted(ctx context.Context, id string) (bool, error) {
	bucket := engine.Runs(engine.ShardOf(id))
	s, err := r.conn.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return false, err
	}
	_, err = s.GetLastMsgForSubject(ctx, "$KV."+bucket+"."+r.key(id))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// keptWith returns the run that was kept with the last of some prompts; nil if none was.
func (r *Runs) keptWith(ctx context.Context, id string, prompts []string) (run *Run, err error) {
	s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
	if err != nil {
		return nil, err
	}
	last := uint64(0)
	for _, subject := range prompts {
		m, err := s.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return nil, err
		}
		var p Prompt
		if json.Unmarshal(m.Data, &p) == nil && p.Run != nil && m.Sequence > last {
			run, last = p.Run, m.Sequence
		}
	}
	return run, nil
}
