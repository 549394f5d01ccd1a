package sched

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/internal/text/jsonstream"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
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

// limit is how long a result of the call may be at most.
func (f *execution) limit() int {
	if f.tool == nil {
		return tool.DefaultMaxResult
	}
	return f.tool.ResultLimit()
}

func (f *execution) dryRun(in *jsonstream.Object, seen *DryRunResult) *Outcome {
	if out := f.prepare(in); out != nil {
		return out
	}
	f.find()
	if f.tool.Validate != nil {
		seen.Problem = f.tool.Validate(f.ctx, f.call)
	}
	verdict, out := f.judge(&tool.Case{Tool: f.tool, Call: f.call})
	if seen.Problem != nil && verdict.Behavior != tool.NoView {
		out = nil // the same problem once more, about what the judge would have run
	}
	seen.Verdict = verdict
	return out
}

// within reports whether a stop reaches a call that has a place.
func (f *execution) within(how reach) bool {
	return how == everything || !f.running || how == interruptible && f.tool.OnInterrupt == tool.InterruptCancel
}

// permit decides whether the call may run. A non-nil outcome means that it may not.
func (f *execution) permit() *Outcome {
	c := tool.Case{Tool: f.tool, Call: f.call}
	if out := f.hook(&c); out != nil {
		return out
	}
	verdict, out := f.decide(&c, "")
	if out != nil {
		return out
	}
	return f.judged(verdict)
}

// decide makes the verdict: by the rules, then, if they leave it open, by the change that
// the call would make, if that is known, then by asking. again is why it is decided once
// more; "" the first time.
func (f *execution) decide(c *tool.Case, again string) (tool.Verdict, *Outcome) {
	verdict, out := f.judge(c)
	if out != nil || verdict.Behavior == tool.Deny {
		return verdict, out
	}
	before, notes := c.Hook, len(f.out.Notes)
	if open(verdict) {
		f.look(c, verdict)
	}
	if f.hookEffects(c, verdict) || c.Ran() || open(verdict) && verdict.Confinement == tool.Previewed {
		if verdict, out = f.judge(c); out != nil {
			return verdict, out
		}
	}
	if open(verdict) && !c.Looked && verdict.Confinement == tool.Previewed {
		// A hook asks about a command that the rules allow. The hook may have no reason to
		// once it sees the change.
		c.Hook, f.out.Notes = before, f.out.Notes[:notes]
		f.look(c, verdict)
		f.hookEffects(c, verdict)
		if verdict, out = f.judge(c); out != nil {
			return verdict, out
		}
	}
	if !open(verdict) {
		return verdict, nil
	}
	if again != "" {
		verdict.Reason, verdict.Rule, verdict.Origin = again, "", ""
	}
	return f.ask(*c, verdict)
}

// look finds out what the call would change.
func (f *execution) look(c *tool.Case, verdict tool.Verdict) {
	call := *f.call
	call.Confinement = verdict.Confinement
	c.Preview, c.Unclear = f.tool.PreviewOf(f.ctx, &call)
	c.Looked = true
}

// judged takes a verdict as the call's. A non-nil outcome means that it may not run.
func (f *execution) judged(verdict tool.Verdict) *Outcome {
	f.out.Verdict = verdict
	approved := *f.call
	approved.Approved, approved.Confinement, approved.Hidden, approved.Dropped = verdict.Approved, verdict.Confinement, verdict.Hidden, verdict.Dropped
	approved.Foreground = verdict.Foreground
	f.call = &approved
	if out := f.record(Judged); out != nil {
		return out
	}
	if verdict.Behavior != tool.Allow {
		return f.deny(verdict)
	}
	return nil
}

// hook shows the call to the hooks, which may change it.
func (f *execution) hook(c *tool.Case) *Outcome {
	hooks := f.batch.opts.Hooks
	if hooks == nil {
		return nil
	}
	notes := f.before(hooks, c)
	f.out.Notes = append(f.out.Notes, notes...)
	return f.change(c.Hook.Input, false)
}

// before runs the hooks; one that crashes cannot have approved of the call.
func (f *execution) before(hooks Hooks, c *tool.Case) (notes []string) {
	defer func() {
		if p := recover(); p != nil {
			c.Hook = tool.Verdict{Behavior: tool.Deny, Reason: fmt.Sprintf("a hook crashed: %v", p)}
		}
	}()
	c.Hook, notes = hooks.Before(f.ctx, f.tool, f.call)
	return notes
}

// hookEffects shows the call to the hooks that wait for its change, and reports whether
// they had an opinion. It is known that a command that may only read changes nothing.
func (f *execution) hookEffects(c *tool.Case, verdict tool.Verdict) (said bool) {
	hooks := f.batch.opts.Hooks
	if hooks == nil {
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			c.Hook, said = tool.Verdict{Behavior: tool.Deny, Reason: fmt.Sprintf("a hook crashed: %v", p)}, true
		}
	}()
	shown := *c
	if verdict.Behavior == tool.Allow && verdict.Confinement == tool.ReadOnly {
		shown.Preview, shown.Looked = &tool.Preview{}, true
	}
	view, notes := hooks.Effects(f.ctx, shown)
	f.out.Notes = append(f.out.Notes, notes...)
	if shown.Looked && !c.Looked && view.Behavior == tool.Allow {
		return false // what they approve of is a command that may only read: the sandbox that makes it one stays
	}
	if view.Behavior == tool.NoView || view.Behavior < c.Hook.Behavior {
		return false
	}
	c.Hook = view
	return true
}

// judge asks the tool for its view, and the judge for the verdict on the current input.
// What a hook or the tool itself denies stays denied.
func (f *execution) judge(c *tool.Case) (tool.Verdict, *Outcome) {
	c.Call = f.call
	if c.Hook.Behavior == tool.Deny {
		return c.Hook, nil
	}
	if f.tool.Permission != nil {
		c.Own = f.tool.Permission(f.ctx, f.call)
		if c.Own.Behavior == tool.Deny {
			return c.Own, nil
		}
		if out := f.change(c.Own.Input, true); out != nil {
			return tool.Verdict{}, out
		}
		c.Call = f.call
	}
	if f.batch.opts.Judge == nil {
		return tool.Verdict{Behavior: tool.Ask, Message: c.Own.Message, Suggestions: c.Own.Suggestions, Reason: "no permission rules are set up"}, nil
	}
	verdict := f.callJudge(*c)
	if c.Ran() && verdict.Behavior == tool.Allow {
		verdict.Input = nil // it has run with the old input
		verdict.Approved = c.Preview.Digest()
	}
	out := f.change(verdict.Input, true)
	c.Call = f.call // what is asked about is what will run
	return verdict, out
}

// callJudge calls the judge; one that crashes has allowed nothing.
func (f *execution) callJudge(c tool.Case) (v tool.Verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = tool.Verdict{Behavior: tool.Deny, Reason: fmt.Sprintf("the rules could not be applied: %v", p)}
		}
	}()
	return f.batch.opts.Judge.Judge(f.ctx, c)
}

// ask asks all askers at once and shows them what the call would change; they approve that
// change. If they change the input, it is checked and judged again: approving a call does
// not override a denial.
func (f *execution) ask(c tool.Case, question tool.Verdict) (tool.Verdict, *Outcome) {
	if who := f.batch.opts.Who; who != "" {
		question.Reason = strings.TrimSuffix(who+" wants it: "+question.Reason, ": ")
	}
	verdict, why := f.batch.opts.Questions.ask(f.ctx, f.batch.opts.Askers, c, question)
	if !decides(verdict) {
		verdict = nobody(c, question, why)
	}
	if f.ctx.Err() != nil {
		return verdict, f.cancelled("before it ran", nil)
	}
	verdict.Approved, verdict.Confinement, verdict.Hidden, verdict.Dropped = "", "", nil, nil
	verdict.Foreground = false
	if verdict.Behavior == tool.Allow {
		verdict.Confinement = question.Confinement
		verdict.Approved = approval(c.Preview, c.Unclear)
	}
	if verdict.Behavior != tool.Allow || verdict.Input == nil {
		return verdict, nil
	}
	if plainjson.Same(verdict.Input, f.call.Input) {
		verdict.Input = nil // they repeat what they were shown, hidden fields included
		return verdict, nil
	}
	answered := *f.call
	answered.Answered = true
	f.call = &answered
	if out := f.change(verdict.Input, false); out != nil {
		return verdict, out
	}
	c.Preview, c.Unclear, c.Looked = nil, nil, true // what their input would change is not known
	again, out := f.judge(&c)
	if out != nil {
		return again, out
	}
	if again.Behavior == tool.Deny {
		return again, nil
	}
	verdict.Approved = approval(f.tool.PreviewOf(f.ctx, f.call)) // they know what their input does
	verdict.Confinement = again.Confinement
	return verdict, nil
}

// confirm asks again about an approved call that would now make a different change, for
// example because another program has changed the file.
func (f *execution) confirm() *Outcome {
	for range maxAsked {
		if f.call.Approved == "" {
			return nil
		}
		if now, unclear := f.tool.PreviewOf(f.ctx, f.call); f.call.Approved == approval(now, unclear) {
			return nil
		}
		f.facts = nil
		f.find()                             // what changed may be among what it was judged by
		if out := f.validate(); out != nil { // it may not be possible any more
			return out
		}
		c := tool.Case{Tool: f.tool, Call: f.call}
		verdict, out := f.decide(&c, changed)
		if out != nil {
			return out
		}
		if verdict.Unasked {
			verdict.Message = tool.ErrUnapproved.Error()
		}
		if out := f.judged(verdict); out != nil {
			return out
		}
	}
	return f.judged(tool.Verdict{Behavior: tool.Deny, Reason: changed, Message: tool.ErrUnapproved.Error()})
}

// change gives the call another input, if the tool can use it; nil changes nothing.
func (f *execution) change(input []byte, internal bool) *Outcome {
	if input == nil {
		return nil
	}
	in := jsonstream.New(nil)
	in.Write(input)
	raw, err := in.Close()
	if err != nil {
		return f.refuse(Invalid, fmt.Sprintf("%s was not run: its input was changed, and the new input cannot be read: %s", f.name, err))
	}
	if out := f.check(raw, internal); out != nil {
		return out
	}
	f.find()
	return f.validate()
}

func (f *execution) deny(v tool.Verdict) *Outcome {
	f.out.Status = Denied
	message := v.Message
	if message == "" {
		message = strings.TrimSuffix("Denied: "+v.Reason, ": ") + "."
	}
	if v.Rule != "" {
		message += fmt.Sprintf(" (rule %s", v.Rule)
		if v.Origin != "" {
			message += " in " + v.Origin
		}
		message += ")"
	}
	f.out.Result = tool.Failure(message)
	if v.Interrupt {
		f.out.Stop = message
	}
	return &f.out
}

// prepare looks up the tool and checks the shape of the input. If something is wrong, it
// returns the outcome; nil means that the call can be queued. It affects nothing but the
// execution.
func (f *execution) prepare(in *jsonstream.Object) *Outcome {
	t := f.batch.tools.Called(f.called)
	if t == nil {
		return f.refuse(Unknown, f.noSuchTool())
	}
	f.tool = t
	raw, err := in.Close()
	if err != nil {
		f.out.Input = in.Raw()
		return f.refuse(Invalid, fmt.Sprintf("InputValidationError: %s was not run: its input could not be read: %s", t.Name, err))
	}
	return f.check(raw, false)
}

// check makes raw the call's input if it has the right shape. Internal input comes from the
// tool itself and may have hidden fields.
func (f *execution) check(raw []byte, internal bool) *Outcome {
	opts := f.batch.tools.Session().ViewOptions()
	opts.Internal = internal
	fixed, repairs, err := f.tool.Input.View(opts).Check(raw)
	f.out.Input = raw
	if err != nil {
		return f.refuse(Invalid, f.misshapen(err))
	}
	f.call = f.call.WithInput(fixed)
	f.out.Input = fixed
	f.out.Repairs = append(f.out.Repairs, repairs...)
	return nil
}

// examine finds the facts of the call as it arrived. That is done when it is the call's turn,
// because the calls before it may have changed the directory, or files that the facts depend
// on.
func (f *execution) examine() *Outcome {
	f.call, f.out.Repairs, f.facts = f.arrived, f.out.Repairs[:f.repaired], nil
	f.find()
	return nil
}

// find makes relative paths absolute and finds the facts of the call, once for an input in a
// directory.
func (f *execution) find() {
	call := *f.call
	if f.batch.opts.Dir != nil {
		call.Dir = f.batch.opts.Dir(f.batch.agent)
		fixed, repairs := f.tool.Input.View(f.batch.tools.Session().ViewOptions()).Resolve(call.Input, call.Dir)
		if len(repairs) > 0 {
			call = *call.WithInput(fixed)
			f.out.Input = fixed
			f.out.Repairs = append(f.out.Repairs, repairs...)
		}
	}
	f.facts = f.tool.Find(&call, f.facts)
	call.Facts = f.facts
	f.call = &call
}

func (f *execution) misshapen(err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "InputValidationError: %s was not run: %s", f.tool.Name, err)
	var invalid *schema.Invalid
	if errors.As(err, &invalid) && f.deferred() {
		fmt.Fprintf(&b, "\nThis tool has not been described to you yet. Its input schema: %s", f.batch.tools.View(f.tool).JSON())
	}
	return b.String()
}

// deferred reports whether the model knows the tool by name only.
func (f *execution) deferred() bool {
	for _, t := range f.batch.tools.Deferred() {
		if t == f.tool {
			return true
		}
	}
	return false
}

// noSuchTool tells the model which tool it may have meant.
func (f *execution) noSuchTool() string {
	tools, name := f.batch.tools, f.called
	if missing := f.batch.opts.Missing; missing != nil {
		if why := missing(name); why != "" {
			return fmt.Sprintf("No such tool available: %q. %s", output.Shorten(name, 100), why)
		}
	}
	if needs, ok := tools.Disabled(name); ok {
		if needs == "" {
			needs = "what it needs is missing or turned off"
		}
		return name + " cannot be used in this session: " + needs + ". Do not assume what it would have answered. Continue without it, or say what you need and end your turn."
	}
	names := tools.Session().Tools
	if other := elsewhere[strings.ToLower(name)]; slices.Contains(names, other) {
		return fmt.Sprintf("No such tool available: %q. Use %s.", name, other)
	}
	b := fmt.Sprintf("No such tool available: %q.", output.Shorten(name, 100))
	if hint := near.Hint(name, names); hint != "" {
		return b + hint
	}
	const most = 60
	switch {
	case len(names) == 0:
		return b + " There are no tools in this session."
	case len(names) > most:
		return fmt.Sprintf("%s There are %d tools; find one with %s.", b, len(names), tool.SearchName)
	}
	return b + " Available: " + strings.Join(names, ", ") + "."
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
