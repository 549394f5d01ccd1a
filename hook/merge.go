package hook

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/tool"
)

// An Outcome is the combined answer of the hooks of an event. The zero value means no
// objection.
type Outcome struct {
	// Behavior is Deny if one hook denies or blocks, or else Ask if one asks, or else Allow
	// if one allows, or else NoView.
	Behavior tool.Behavior
	// Reason joins the reasons of the hooks that gave this answer.
	Reason string
	// Hook and Origin are the first of those hooks.
	Hook, Origin string
	// Input replaces the call's input; nil keeps it.
	Input json.RawMessage
	// Conflict names the hooks that wanted different inputs. The last one is used, and a
	// hook that did not see it cannot allow it.
	Conflict []string
	// Output replaces the call's output; nil keeps it.
	Output json.RawMessage
	// Notes are for the model, in the order of configuration.
	Notes []string
	// Stop ends the turn, and StopReason tells the user why.
	Stop       bool
	StopReason string
	// Interrupt ends the turn after a denial.
	Interrupt bool
	// Runs are the runs, in the order of configuration.
	Runs []Run
}

// Blocked reports whether the event must not continue: the prompt is not sent, the turn
// does not end.
func (o *Outcome) Blocked() bool { return o.Behavior == tool.Deny }

// mergeInput takes the last input that a hook proposes. A hook allows the input that it
// saw: if another one would run, that does not count.
func (o *Outcome) mergeInput() {
	var proposed []*Run
	for i := range o.Runs {
		if o.Runs[i].said.input != nil {
			proposed = append(proposed, &o.Runs[i])
		}
	}
	if proposed == nil || o.Behavior == tool.Deny {
		return
	}
	last := proposed[len(proposed)-1]
	o.Input = last.said.input
	for _, run := range proposed {
		if !plainjson.Same(run.said.input, o.Input) {
			o.Conflict = append(o.Conflict, run.Hook)
		}
	}
	if o.Conflict != nil {
		o.Conflict = append(o.Conflict, last.Hook)
	}
	if o.Behavior != tool.Allow {
		return
	}
	for i := range o.Runs {
		if s := &o.Runs[i].said; s.behavior == tool.Allow && plainjson.Same(s.input, o.Input) {
			return
		}
	}
	o.Behavior, o.Reason, o.Hook, o.Origin = tool.NoView, "", "", ""
}

// verdict is the outcome as a verdict of the hooks; before begins what the model reads
// about a denial.
func (o *Outcome) verdict(before string) tool.Verdict {
	v := tool.Verdict{Behavior: o.Behavior, Input: o.Input}
	if o.Behavior == tool.NoView {
		return v
	}
	v.Message, v.Reason, v.Origin = o.Reason, "hook "+o.Hook, o.Origin
	if o.Behavior == tool.Deny {
		v.Message = before + orNoReason(o.Reason)
	}
	return v
}
