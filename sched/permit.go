package sched

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/jsonstream"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/tool"
)

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

// open reports whether someone has to be asked.
func open(v tool.Verdict) bool { return v.Behavior == tool.Ask || v.Behavior == tool.NoView }

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

// approval is what an approval covers: the change that was shown. If nothing could be
// shown, a later preview is a different change.
func approval(p *tool.Preview, unclear error) string {
	if unclear != nil {
		return tool.Unseen
	}
	return p.Digest()
}

// maxAsked is how often one call is asked about: a file that changes each time is not
// waited for forever.
const maxAsked = 3

// changed is why a call that was approved is asked about again.
const changed = "the file was changed after the call was approved, so the call would now make a different change"

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

// nobody is the verdict if no one decides, with the reason. The model is told what the
// question was, because denying this call says nothing about the next one.
func nobody(c tool.Case, question tool.Verdict, why string) tool.Verdict {
	needs := cmp.Or(question.Reason, "it needs approval")
	v := tool.Verdict{
		Behavior: tool.Deny, Unasked: true,
		Reason: needs + ", and " + why, Rule: question.Rule, Origin: question.Origin, Suggestions: question.Suggestions,
	}
	v.Message = "Denied: " + v.Reason + "."
	if c.Unclear != nil && c.Tool.Command != nil { // a user would have been shown it
		v.Message += " A preview was not enough: " + c.Unclear.Error() + "."
	}
	v.Message += v.Remedy()
	return v
}
