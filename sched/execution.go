package sched

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/haftdev/haft/tool"
)

// An execution is one call from its arrival to its outcome. Fields that are not described
// as fixed or guarded belong to the goroutine that runs the call.
type execution struct {
	// Fixed when the call is opened.
	batch     *Batch
	index     int
	id, useID string
	called    string // the name the model used
	name      string // the tool's name, or what the model used
	input     *Input
	ctx       context.Context
	cancel    context.CancelCauseFunc
	mark      *mark

	// Fixed when the call is queued.
	tool     *tool.Tool
	arrived  *tool.Call // as the model sent it, with repairs
	repaired int        // how many

	call  *tool.Call  // as it is now
	facts *tool.Facts // the latest that were found
	out   Outcome

	// Guarded by batch.mu.
	state     State
	known     bool          // it was examined, so that the next two are set
	shared    bool          // started, or will start, together with others
	since     int           // batch.changes when it was examined
	running   bool          // Run was or is about to be called
	readOnly  bool          // and changes nothing
	granted   chan struct{} // closed when a place alone is granted; see Batch.acquireExclusive
	claimed   bool          // another goroutine is about to set done
	discarded bool          // there is no such call
	done      *Outcome      // the one outcome
	late      *Outcome      // an outcome whose length depends on calls before it
	bounded   bool          // the result has its length
	charged   int           // that length
	whole     []tool.Block  // the result before anything was cut or replaced
	grace     *time.Timer   // runs once a running call is cancelled
}

// run takes a prepared call from the tool's own check to its result.
func (f *execution) run() *Outcome {
	if f.batch.outdated(f) {
		if out := f.examine(); out != nil {
			return out
		}
	}
	if out := f.validate(); out != nil {
		return out
	}
	if out := f.permit(); out != nil {
		return out
	}
	if out := f.dispatch(); out != nil {
		return out
	}
	f.execute()
	if !f.batch.gone(f) {
		f.after()
	}
	return &f.out
}

// validate lets the tool check the meaning of the input.
func (f *execution) validate() *Outcome {
	if f.tool.Validate == nil {
		return nil
	}
	if p := f.tool.Validate(f.ctx, f.call); p != nil {
		f.out.Code = p.Code
		return f.refuse(Invalid, p.Message)
	}
	return nil
}

// dispatch takes the last chance not to run.
func (f *execution) dispatch() *Outcome {
	if f.mustBecomeAlone() && !f.batch.acquireExclusive(f) {
		return f.cancelled("before it ran", nil)
	}
	if f.call.Approved != "" {
		if out := f.confirm(); out != nil {
			return out
		}
	}
	if out := f.record(Dispatched); out != nil {
		return out
	}
	if !f.batch.clearToRun(f) {
		return f.cancelled("before it ran", nil)
	}
	return nil
}

// mustBecomeAlone reports whether a hook or an approval changed the input into one that must run
// alone.
func (f *execution) mustBecomeAlone() bool { return f.shared && !f.facts.Marks.ConcurrencySafe }

// execute calls the tool. Whatever the tool does, there is a result afterwards.
func (f *execution) execute() {
	f.out.Started = time.Now()
	result, err := f.runTool()
	f.out.Ended = time.Now()
	f.call.Took = f.out.Ended.Sub(f.out.Started)
	var forModel *tool.Error
	switch {
	case err == nil:
		f.out.Result = result
		if result.Failed {
			f.out.Status = Failed
		}
	case f.ctx.Err() != nil:
		// Whatever a cancelled tool says, such as that its process was killed.
		f.cancelled("while it ran", err)
	case errors.As(err, &forModel):
		f.fail(forModel.Message)
	default:
		f.fail(fmt.Sprintf("%s failed: %s", f.tool.Name, err))
		f.out.Fatal = fmt.Errorf("tool %s: %w", f.tool.Name, err)
	}
}

// runTool runs the tool and turns a panic into an error for the model: a fault in one tool
// must not end the conversation.
func (f *execution) runTool() (result tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			f.out.Stack = debug.Stack()
			err = &tool.Error{Message: f.crashed(p)}
		}
	}()
	return f.tool.Run(f.ctx, f.call)
}

// recoverPanic runs a step that calls the tool's code but is not its Run. A panic becomes
// an outcome.
func (f *execution) recoverPanic(part func() *Outcome) (out *Outcome) {
	defer func() {
		if p := recover(); p != nil {
			f.out.Stack = debug.Stack()
			f.fail(f.crashed(p))
			out = &f.out
		}
	}()
	return part()
}

func (f *execution) crashed(p any) string {
	return fmt.Sprintf("%s crashed: %v. This is a fault in the tool, not in the input: try another way.", f.name, p)
}

// after shows the result to the hooks. If a hook crashes, what the tool did still counts.
func (f *execution) after() {
	hooks := f.batch.opts.Hooks
	if hooks == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			f.out.Notes = append(f.out.Notes, fmt.Sprintf("A hook crashed after %s had run: %v", f.name, p))
		}
	}()
	replacement, notes := hooks.After(context.WithoutCancel(f.ctx), f.tool, f.call, f.out.Result)
	if replacement != nil {
		f.out.Result = *replacement
	}
	f.out.Notes = append(f.out.Notes, notes...)
}

// outcome returns an outcome that names the call.
func (f *execution) outcome(s Status) Outcome {
	return Outcome{CallID: f.id, UseID: f.useID, Tool: f.name, Agent: f.batch.agent, Status: s}
}

// vanished is the outcome of a call whose goroutine was ended by the tool's own code, with
// runtime.Goexit.
func (f *execution) vanished() *Outcome {
	out := f.outcome(Failed)
	out.Result = tool.Failure(f.crashed("it ended without a result"))
	return &out
}

func (f *execution) fail(text string) {
	f.out.Status = Failed
	f.out.Result = tool.Failure(text)
}

// refuse ends a call that did not run. The wrapper tells the model that the error comes
// from the harness and not from the tool.
func (f *execution) refuse(s Status, text string) *Outcome {
	f.out.Status = s
	f.out.Result = tool.Failure("<tool_use_error>" + text + "</tool_use_error>")
	return &f.out
}

// cancelled ends a call whose context has ended; err is what the tool returned.
func (f *execution) cancelled(when string, err error) *Outcome {
	text := fmt.Sprintf("Cancelled %s: %s.", when, causeText(context.Cause(f.ctx)))
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Cause(f.ctx)) {
		text += " The tool said: " + err.Error()
	}
	f.out.Status = Cancelled
	f.out.Result = tool.Failure(text)
	return &f.out
}

// asArrived returns the call as it was understood when it arrived. Unlike call, it may be read
// while a stuck tool still has the execution.
func (f *execution) asArrived() *tool.Call {
	if f.arrived != nil {
		return f.arrived
	}
	return &tool.Call{ID: f.id, UseID: f.useID, Tool: f.name, Agent: f.batch.agent}
}

// record writes a step down; an outcome means that it could not be.
func (f *execution) record(step Step) *Outcome {
	rec := Record{Step: step, Call: f.call, Marks: f.facts.Marks, Paths: f.facts.Paths, Verdict: f.out.Verdict}
	// What dispatch does first may take long: a place alone, another look at what was approved.
	rec.Waits = step == Judged && rec.Verdict.Behavior == tool.Allow && (f.mustBecomeAlone() || f.call.Approved != "")
	if err := f.batch.write(f, rec); err != nil {
		f.fail(f.tool.Name + " was not run: the session's record could not be written.")
		f.out.Fatal = err
		return &f.out
	}
	return nil
}

func causeText(cause error) string {
	switch {
	case cause == nil, errors.Is(cause, context.Canceled):
		return "the turn was stopped"
	case errors.Is(cause, context.DeadlineExceeded):
		return "the turn reached its time limit"
	}
	return cause.Error()
}
