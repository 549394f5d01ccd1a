package sched_test

import (
	"context"
	"strings"
	"testing"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A dry run comes to the verdict that the call itself would get, and leaves no trace.
func TestADryRunChangesNothing(t *testing.T) {
	judge := sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		switch {
		case c.Own.Behavior == tool.Allow:
			return tool.Verdict{Behavior: tool.Allow, Reason: c.Own.Reason}
		case strings.Contains(string(c.Call.Input), "loud"):
			return tool.Verdict{Behavior: tool.Deny, Reason: "too loud"}
		}
		return tool.Verdict{Behavior: tool.Ask, Reason: "no rule"}
	})
	untouched := &sched.Options{
		Judge: judge,
		Hooks: hooks{before: func(*tool.Call) (tool.Verdict, []string) { t.Error("a hook ran"); return tool.Verdict{}, nil }},
		Askers: []sched.Asker{sched.AskerFunc(func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
			t.Error("somebody was asked")
			return tool.Verdict{Behavior: tool.Allow}, nil
		})},
	}
	set := func(change func(*tool.Def[note, string])) *tool.Set {
		return tool.NewSet(nil, []tool.Tool{echo(func(d *tool.Def[note, string]) {
			d.Run = func(context.Context, *tool.Call, note) (string, error) { t.Error("it ran"); return "", nil }
			if change != nil {
				change(d)
			}
		})}, nil, nil)
	}
	for _, c := range []struct {
		name, tool, input string
		change            func(*tool.Def[note, string])
		want              tool.Behavior
		refused           sched.Status
		problem           string
	}{
		{name: "what is left open", tool: "Echo", input: `{"text":"a"}`, want: tool.Ask},
		{name: "what a rule denies", tool: "Echo", input: `{"text":"loud"}`, want: tool.Deny},
		{name: "what the tool allows", tool: "Echo", input: `{"text":"a"}`, want: tool.Allow, change: func(d *tool.Def[note, string]) {
			d.Permission = func(context.Context, *tool.Call, note) tool.Verdict {
				return tool.Verdict{Behavior: tool.Allow, Reason: "harmless"}
			}
		}},
		{name: "what the tool would refuse now", tool: "Echo", input: `{"text":"a"}`, want: tool.Ask, problem: "not now", change: func(d *tool.Def[note, string]) {
			d.Validate = func(context.Context, *tool.Call, note) *tool.Problem {
				return &tool.Problem{Message: "not now", Code: 7}
			}
		}},
		{name: "an input that does not fit", tool: "Echo", input: `{"txt":1}`, refused: sched.Invalid},
		{name: "a tool that is not there", tool: "Ecko", input: `{}`, refused: sched.Unknown},
		{name: "a tool that crashes", tool: "Echo", input: `{"text":"a"}`, refused: sched.Failed, change: func(d *tool.Def[note, string]) {
			d.Permission = func(context.Context, *tool.Call, note) tool.Verdict { panic("x") }
		}},
	} {
		seen := sched.New(untouched).DryRun(t.Context(), set(c.change), c.tool, []byte(c.input))
		if seen.Verdict.Behavior != c.want || (seen.Refused == nil) != (c.refused == sched.Succeeded) || seen.Refused != nil && seen.Refused.Status != c.refused {
			t.Errorf("%s: %+v, %+v", c.name, seen.Verdict, seen.Refused)
		}
		if (seen.Problem == nil) != (c.problem == "") || seen.Problem != nil && seen.Problem.Message != c.problem {
			t.Errorf("%s: %+v", c.name, seen.Problem)
		}
	}
}

func TestTheCodeOfARefusalReachesTheOutcome(t *testing.T) {
	out := call(t, allowAll(), echo(func(d *tool.Def[note, string]) {
		d.Validate = func(context.Context, *tool.Call, note) *tool.Problem { return &tool.Problem{Message: "no", Code: 7} }
	}), `{}`)
	if out.Status != sched.Invalid || out.Code != 7 {
		t.Errorf("%s, code %d", out.Status, out.Code)
	}
}
