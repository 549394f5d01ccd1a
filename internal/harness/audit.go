package harness

import (
	"context"
	"time"

	"github.com/haftdev/haft/internal/audit"
	"github.com/haftdev/haft/sched"
)

// Audit returns a recorder that writes every verdict into the audit log.
func (w *World) Audit() (sched.Recorder, error) {
	log, err := w.AuditLog()
	if err != nil {
		return nil, err
	}
	return verdictRecorder{log, w}, nil
}

type verdictRecorder struct {
	log *audit.Log
	*World
}

// Record writes verdicts down; the other steps belong to a session's journal.
func (r verdictRecorder) Record(_ context.Context, rec sched.Record) error {
	if rec.Step != sched.Judged {
		return nil
	}
	v, id := rec.Verdict, ""
	if c := r.conversation.Load(); c != nil {
		id = c.Journal().ID()
	}
	return r.log.Append(audit.Entry{
		Time: time.Now().UTC(), Session: id, UseID: rec.Call.UseID, Agent: rec.Call.Agent, Tool: rec.Call.Tool, Input: rec.Call.Input,
		Mode: string(r.Engine.Policy().Mode()), Cwd: r.Shell.Dir(rec.Call.Agent), Behavior: v.Behavior.String(), Reason: v.Reason, Rule: v.Rule, Origin: v.Origin, Approved: v.Approved,
	})
}
