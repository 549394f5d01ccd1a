package sched_test

import (
	"context"
	"testing"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// effectHooks judge what a call would change.
type effectHooks struct {
	hooks
	effects func(tool.Case) (tool.Verdict, []string)
}

func (h effectHooks) Effects(_ context.Context, c tool.Case) (tool.Verdict, []string) {
	return h.effects(c)
}

// A hook that approves of a command that may only read approves of nothing else: the sandbox
// that keeps the command from writing stays.
func TestAHookThatApprovesOfReadingDoesNotLiftTheSandbox(t *testing.T) {
	judge := sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		if c.Hook.Behavior == tool.Allow {
			return tool.Verdict{Behavior: tool.Allow, Confinement: tool.Unconfined}
		}
		return tool.Verdict{Behavior: tool.Allow, Confinement: tool.ReadOnly}
	})
	for behavior, want := range map[tool.Behavior]sched.Status{tool.Allow: sched.Succeeded, tool.NoView: sched.Succeeded, tool.Deny: sched.Denied} {
		hook := effectHooks{effects: func(c tool.Case) (tool.Verdict, []string) {
			if c.Preview == nil || len(c.Preview.Files) != 0 {
				t.Errorf("the hook sees %+v", c.Preview)
			}
			return tool.Verdict{Behavior: behavior}, nil
		}}
		out := call(t, &sched.Options{Judge: judge, Hooks: hook}, echo(), `{}`)
		if out.Status != want || want == sched.Succeeded && out.Verdict.Confinement != tool.ReadOnly {
			t.Errorf("the hook says %v: %v, confined to %q", behavior, out.Status, out.Verdict.Confinement)
		}
	}
}
