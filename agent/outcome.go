package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
)

// An outcome is what a turn comes to, and how often it has tried.
type outcome struct {
	exchange

	res      Result
	attempts attempts
}

// withinLimits says whether another request may be made.
func (t *outcome) withinLimits() Reason {
	limits := &t.a.opts.Limits
	if limits.Turns > 0 && t.res.Requests >= limits.Turns {
		t.res.Errors = append(t.res.Errors, fmt.Sprintf("Reached maximum number of turns (%d)", limits.Turns))
		return MaxTurns
	}
	return t.withinBudget()
}

// withinBudget says whether there is money left. A turn that has used it up ends as such,
// even if its last answer needs no other request.
func (t *outcome) withinBudget() Reason {
	limits := &t.a.opts.Limits
	if limits.BudgetUSD == 0 {
		return ""
	}
	cost, known := t.a.cost()
	if !known && !t.attempts.unpriced {
		t.attempts.unpriced = true
		t.a.out.put(Notice{Level: "warning", Tag: "budget", Text: "No price is known for this model, so the budget cannot be enforced."})
	}
	if cost >= limits.BudgetUSD {
		t.res.Errors = append(t.res.Errors, fmt.Sprintf("Reached maximum budget ($%g): spent $%.4f", limits.BudgetUSD, cost))
		return BudgetExhausted
	}
	return ""
}

// stopped says why the turn ends if it was stopped. Acting says whether tools were running.
func (t *outcome) stopped(acting bool) Reason {
	if t.asking.Err() == nil {
		return ""
	}
	cause := context.Cause(t.asking)
	message, reason := stoppedText, AbortedStreaming
	if acting {
		message, reason = stoppedCallsText, AbortedTools
	}
	if errors.Is(cause, errTimeUp) {
		message, reason = timeUpText, TimeExhausted
	}
	t.res.Errors = append(t.res.Errors, cause.Error())
	if err := t.add(Interrupted, "", model.TextOf(message)); err != nil {
		return t.fail(JournalFailure, err)
	}
	return reason
}

// fail notes an error that ends the turn.
func (t *outcome) fail(r Reason, err error) Reason {
	if errors.Is(err, session.ErrFenced) {
		r = TakenOver
	}
	t.res.Errors = append(t.res.Errors, err.Error())
	return r
}

// showBatch shows the hooks all calls of an answer together.
func (t *outcome) showBatch(outcomes []*sched.Outcome) Reason {
	if t.a.opts.Hooks == nil {
		return ""
	}
	var batch hook.PostToolBatch
	for _, out := range outcomes {
		input := out.Input
		if !json.Valid(input) {
			input = json.RawMessage("null")
		}
		batch.ToolCalls = append(batch.ToolCalls, hook.BatchCall{ToolName: out.Tool, ToolInput: input, ToolUseID: out.UseID, ToolResponse: out.Result.Text()})
	}
	said := t.a.fire(t.asking, batch)
	notes := said.Notes
	if said.Blocked() {
		notes = append(notes, "PostToolBatch hook blocking error: "+cmp.Or(said.Reason, "no reason given"))
	}
	if err := t.remind(notes...); err != nil {
		return t.fail(JournalFailure, err)
	}
	if said.Stop {
		return t.fail(StoppedByHook, errors.New(cmp.Or(said.StopReason, "a hook ended the turn")))
	}
	return ""
}

// structured ends the turn with the first valid answer.
func (t *outcome) structured(out *sched.Outcome) Reason {
	if out.Status == sched.Succeeded {
		t.res.Structured = t.a.form.answer(out.Input)
		t.res.Text = string(t.res.Structured)
		return Completed
	}
	t.attempts.misshapen++
	if t.attempts.misshapen < structuredTries {
		return ""
	}
	return t.fail(StructuredRetries, fmt.Errorf("the model gave %d answers that did not match the schema", t.attempts.misshapen))
}

// nudge tells the model something that it should act on.
func (t *outcome) nudge(s string) Reason {
	if err := t.remind(s); err != nil {
		return t.fail(JournalFailure, err)
	}
	return ""
}

// instruct tells the model something as nudge does, and reports it to front ends.
func (t *outcome) instruct(s string) Reason {
	if err := t.add(Instructed, "", model.TextOf(s)); err != nil {
		return t.fail(JournalFailure, err)
	}
	return ""
}

// keepAnswer keeps the answer when a hook did not let the turn end: what the model says
// only to satisfy the hook must not replace the answer.
func (t *outcome) keepAnswer(words string) {
	if words != "" && !slices.Contains(t.attempts.blocked, words) {
		t.attempts.blocked = append(t.attempts.blocked, words)
	}
}

// giveUp says why there is no answer.
func (t *outcome) giveUp(r Reason, e *model.Error) Reason {
	t.res.Err, t.res.Text = e, "API error: "+e.Error()
	t.res.Errors = append(t.res.Errors, e.Error())
	if err := t.explain(e, t.res.Text); err != nil {
		return t.fail(JournalFailure, err)
	}
	return r
}
