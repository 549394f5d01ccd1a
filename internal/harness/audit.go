package harness

import (
	"context"
	"time"

	"github.com/haftdev/haft/internal/guard/audit"
	"github.com/haftdev/haft/sched"
)

type verdictRecorder struct {
	log   *audit.Log
	world *World
}

// Record writes verdicts down; the other steps belong to a session's journal.
func (r verdictRecorder) Record(_ context.Context, rec sched.Record) error {
	if rec.Step != sched.Judged {
		return nil
	}
	v, id := rec.Verdict, ""
	if s := r.world.link.Journal(); s != nil {
		id = s.ID()
	}
	return r.log.Append(audit.Entry{
		Time: time.Now().UTC(), Session: id, UseID: rec.Call.UseID, Agent: rec.Call.Agent, Tool: rec.Call.Tool, Input: rec.Call.Input,
		Mode: string(r.world.Engine.Policy().Mode()), Cwd: r.world.Shell.Dir(rec.Call.Agent), Behavior: v.Behavior.String(), Reason: v.Reason, Rule: v.Rule, Origin: v.Origin, Approved: v.Approved, Confinement: string(v.Confinement),
	})
}
