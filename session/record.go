package session

import (
	"context"
	"encoding/json"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

var _ sched.Recorder = (*Session)(nil)

// Record implements [sched.Recorder]. A call with effects is on the disk before it runs,
// and its result is before the model sees it. The steps of a call without effects are
// written with its result, or after a tenth of a second: if they are lost, the call can be
// repeated.
func (s *Session) Record(ctx context.Context, r sched.Record) error {
	if s.silent() {
		return nil
	}
	switch r.Step {
	case sched.Finished:
		return s.finished(ctx, r.Outcome)
	case sched.Dispatched:
		return s.dispatched(ctx, r)
	}
	c := s.callOf(r, Judged)
	c.Behavior, c.Reason, c.Unasked = r.Verdict.Behavior, r.Verdict.Reason, r.Verdict.Unasked
	c.Approved, c.Confinement = r.Verdict.Approved, r.Verdict.Confinement
	if c.Unasked {
		c.Remedy = r.Verdict.Remedy()
	}
	e := Entry{Agent: r.Call.Agent, Call: &c}
	if c.Behavior == tool.Allow && !r.Waits && c.Approved == "" {
		return s.AppendSoon(e) // its dispatch follows; what a user approved is written at once
	}
	return s.Append(ctx, e)
}

func (s *Session) dispatched(ctx context.Context, r sched.Record) error {
	c := s.callOf(r, Dispatched)
	s.mu.Lock()
	defer s.mu.Unlock()
	if use := s.uses[c.UseID]; !plainjson.Same(use.input, r.Call.Input) {
		c.Input = r.Call.Input
	}
	if err := c.check(); err != nil {
		return err
	}
	s.uses[c.UseID] = pendingCall{pure: c.Effect == tool.Pure}
	entries := []Entry{{Agent: r.Call.Agent, Call: &c}}
	if c.Effect == tool.Pure {
		return s.holdShortly(ctx, entries)
	}
	if err := s.appendLocked(ctx, entries); err != nil {
		return err
	}
	return s.streams[r.Call.Agent].log.Sync(ctx)
}

func (s *Session) callOf(r sched.Record, step Step) Call {
	return Call{Step: step, ID: r.Call.ID, UseID: r.Call.UseID, Tool: r.Call.Tool, Effect: r.Marks.Effect}
}

func (s *Session) finished(ctx context.Context, out *sched.Outcome) error {
	e := Entry{
		UUID:  ResultUUID(s.id, out.CallID),
		Agent: out.Agent,
		Message: &Message{
			Role:    model.User,
			Content: []model.Block{ResultBlock(out)},
			Output:  typedOutput(out), Confined: confined(out.Result.Output),
		},
	}
	if out.Status == sched.Denied {
		e.Message.Denied = &Denied{Reason: out.Verdict.Reason, Rule: out.Verdict.Rule}
	}
	s.mu.Lock()
	pure := s.uses[out.UseID].pure
	delete(s.uses, out.UseID)
	err := s.appendLocked(ctx, []Entry{e})
	st := s.streams[out.Agent]
	if err == nil && pure {
		st.syncSoon() // with the lock, so that the log is not closed in between
	}
	s.mu.Unlock()
	if err != nil || pure {
		return err
	}
	return st.log.Sync(ctx)
}

// ResultBlock returns what the model reads of a call's outcome, as recorded in the journal.
func ResultBlock(out *sched.Outcome) model.Block {
	return model.Block{Type: model.ToolResult, UseID: out.UseID, Content: out.Result.Content, IsError: out.IsError()}
}

// confined is what an output says about it.
func confined(output any) *Confined {
	if c, ok := output.(tool.Confined); ok {
		if to, tier := c.ConfinedTo(); to != "" {
			return &Confined{To: to, Tier: tier}
		}
	}
	return nil
}

// typedOutput is what programs read: the tool's output, or a string if it failed.
func typedOutput(out *sched.Outcome) json.RawMessage {
	var v any = out.Result.Output
	if out.IsError() {
		v = "Error: " + out.Result.Text()
	} else if v == nil {
		v = out.Result.Text()
	}
	raw, err := plainjson.Marshal(v)
	if err != nil { // a tool's output that cannot be encoded is the tool's fault, not the session's
		return nil
	}
	return raw
}
