package crew

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A member is one agent of a crew.
type member struct {
	crew  *Crew
	id    string
	job   subagent.Job
	depth int
	made  *Made
	began time.Time

	state    *state
	activity activity

	spent map[string]model.Usage // of what the main conversation was told; only work uses it
}

// work takes the agent's turns to their end and reports. The place that it was
// given is free afterwards.
func (m *member) work(ctx context.Context, progress func(tool.AgentProgress)) subagent.Report {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	again := m.state.start(cancel)
	watch := newWatchdog(m.crew.opts.FirstToken, m.crew.opts.Idle, func(err error) { cancel(err) })
	defer watch.stop()
	began := time.Now()
	var res *agent.Result
	err := m.reopen(ctx, again)
	for goOn := err == nil; goOn; goOn = m.called(ctx) {
		for ev, err := range m.made.Agent.Run(ctx) {
			if err != nil {
				break
			}
			watch.see(ev)
			m.see(ev, progress)
			if r, ok := ev.(agent.Result); ok {
				res = &r
			}
			if wantsMore(ev) && m.over() {
				cancel(errTokens)
			}
		}
	}
	report := m.report(res, context.Cause(ctx))
	if err != nil {
		report.Status, report.Why = subagent.Failed, err.Error()
	}
	report.Took = time.Since(began)
	m.finish(&report)
	return report
}

// reopen gets ready what the end of earlier work has closed.
func (m *member) reopen(ctx context.Context, again bool) error {
	if !again || m.made.Reopen == nil {
		return nil
	}
	return m.made.Reopen(ctx)
}

// called reports whether someone spoke to the agent after its last turn. If nobody
// did, it hears nothing more before its end, so that no message is left unheard.
func (m *member) called(ctx context.Context) bool {
	c := m.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil && len(m.made.Agent.Queued()) > 0 {
		return true
	}
	m.state.lastTurn()
	return false
}

// finish ends what the agent has started, frees the place and tells that the work is
// over.
func (m *member) finish(r *subagent.Report) {
	c := m.crew
	m.state.close()
	r.Worktree, r.Branch = m.close()
	c.mu.Lock()
	c.running--
	m.state.rest(r.Status, c.ctx.Err() != nil)
	c.markUsed(m.id)
	c.mu.Unlock()
	m.spend()
	if t := m.task(r); !t.Background { // of the others the crew tells the model, too
		c.opts.Emit(agent.TaskChanged{Change: "ended", Task: t})
	}
	c.save()
}

// spend counts what was used since it was last counted.
func (m *member) spend() {
	if m.crew.opts.Spend == nil {
		return
	}
	for name, u := range m.made.Agent.Usage() {
		m.crew.opts.Spend(name, u.Usage.Minus(m.spent[name]))
		if m.spent == nil {
			m.spent = make(map[string]model.Usage)
		}
		m.spent[name] = u.Usage
	}
}

// close ends what the agent has started, and says where its work is.
func (m *member) close() (worktree, branch string) {
	if m.made.Close == nil {
		return "", ""
	}
	return m.made.Close()
}

// see takes in what the agent does, and passes on what front ends show of it.
func (m *member) see(ev agent.Event, progress func(tool.AgentProgress)) {
	switch ev := ev.(type) {
	case agent.Streamed:
		m.activity.streamed(ev.Event)
		return // the pieces of its turns are its own
	case agent.Said:
		m.activity.said(ev)
		if ev.Block.Type == model.ToolUse {
			m.tell(progress, ev.Block.Name)
		}
	case agent.Returned, agent.Denied, agent.Added, agent.Notice, agent.Retrying, agent.Waiting, agent.Answered:
	case agent.Called:
		if ev.State != sched.Completed && ev.Progress == nil {
			return
		}
	default:
		return // its turns are its own
	}
	m.crew.opts.Emit(ev)
}

// tell tells the call that waits how far the agent is, and the front ends.
func (m *member) tell(progress func(tool.AgentProgress), activity string) {
	t := m.task(nil)
	if progress != nil {
		progress(tool.AgentProgress{Agent: m.id, Activity: activity, ToolUses: t.ToolUses, Tokens: int(t.Tokens)})
	}
	m.crew.opts.Emit(agent.TaskChanged{Change: "progress", Task: t})
}

// wantsMore tells that an agent is not about to end by itself.
func wantsMore(ev agent.Event) bool {
	switch ev := ev.(type) {
	case agent.Requesting:
		return true
	case agent.Streamed:
		stop, ok := ev.Event.(model.Stop)
		return ok && stop.Reason != model.EndTurn
	}
	return false
}

var errTokens = errors.New("it reached its token limit")

func (m *member) over() bool {
	return m.crew.opts.MaxTokens > 0 && m.activity.spent(m.made.Agent.Usage()) > m.crew.opts.MaxTokens
}

// report says how the work ended. What was said so far is always part of it.
func (m *member) report(res *agent.Result, cause error) subagent.Report {
	m.activity.settle(m.made.Agent.Usage())
	did := m.activity.now()
	r := subagent.Report{
		ID: m.id, Kind: m.made.Kind, Model: m.made.Model, Text: did.text, ToolUses: did.uses, Tools: did.tools, Tokens: did.tokens,
	}
	switch stall := (*stalledError)(nil); {
	case errors.As(cause, &stall):
		r.Status, r.Why = subagent.Stalled, cause.Error()
	case errors.Is(cause, errTokens):
		r.Status, r.Why = subagent.Budget, cause.Error()
	case cause != nil:
		r.Status, r.Why = subagent.Cancelled, cause.Error()
	case res == nil:
		r.Status, r.Why = subagent.Failed, "its turn ended without a result"
	default:
		conclude(&r, res)
	}
	return r
}

// conclude sorts the result of a turn that nobody stopped.
func conclude(r *subagent.Report, res *agent.Result) {
	switch res.Reason {
	case agent.Completed:
		r.Status = subagent.Empty
		if res.Text != "" {
			r.Status, r.Text = subagent.Completed, res.Text
		}
	case agent.MaxTurns, agent.BudgetExhausted, agent.TimeExhausted, agent.OutputExhausted:
		r.Status, r.Why = subagent.Budget, "it reached its limit ("+string(res.Reason)+")"
	case agent.AbortedStreaming, agent.AbortedTools:
		r.Status, r.Why = subagent.Cancelled, "it was interrupted"
	default:
		r.Status, r.Why = subagent.Failed, reason(res)
	}
}

func reason(res *agent.Result) string {
	if res.Err != nil {
		return res.Err.Error()
	}
	if len(res.Errors) > 0 {
		return res.Errors[0]
	}
	return string(res.Reason)
}

// statuses are how front ends call the ends of an agent's work.
var statuses = map[subagent.Status]string{subagent.Completed: "completed", subagent.Empty: "completed", subagent.Cancelled: "stopped"}

// task is the agent as front ends see it; done is nil while it works.
func (m *member) task(done *subagent.Report) agent.Task {
	did := m.activity.now()
	t := agent.Task{
		ID: m.id, UseID: m.job.UseID, Type: "local_agent", Description: m.job.Description, Status: "running", Background: m.state.isBackground(),
		AgentType: m.made.Kind, Prompt: m.job.Prompt, OutputFile: m.made.Output, Tokens: did.tokens, ToolUses: did.uses, LastTool: did.lastTool, Started: m.began,
	}
	if done == nil {
		return t
	}
	t.Ended, t.Status = time.Now(), "failed"
	if s, ok := statuses[done.Status]; ok {
		t.Status = s
	}
	t.Summary = summary(m.job.Description, done)
	return t
}

// whileAwaited passes progress on as long as the call waits for it.
func (m *member) whileAwaited(progress func(tool.AgentProgress)) func(tool.AgentProgress) {
	return func(p tool.AgentProgress) {
		if progress != nil && !m.state.wasDetached() {
			progress(p)
		}
	}
}

// known is called with the crew's mu held.
func (m *member) known() Known {
	did := m.activity.now()
	status, running := m.state.last()
	return Known{
		ID: m.id, Kind: m.made.Kind, Name: m.job.Name, Team: m.job.Team, Description: m.job.Description, UseID: m.job.UseID, Depth: m.depth,
		Model: m.job.Model, Worktree: m.job.Worktree, Dir: m.job.Dir, Text: m.job.Text, Running: running, Status: status, Tokens: did.tokens, ToolUses: did.uses, Began: m.began,
	}
}

// summary says in a line how the work of an agent ended.
func summary(description string, r *subagent.Report) string {
	s := fmt.Sprintf("Agent %q %s", description, r.Status)
	if r.Why != "" {
		s += ": " + r.Why
	}
	if r.Text != "" {
		s += "\n" + r.Text
	}
	return s
}
