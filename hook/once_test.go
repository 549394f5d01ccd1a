package hook_test

import (
	"context"
	"testing"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/tool"
)

// A hook that runs once judges one call: before its change is known, and again with the
// change, so that what it says at first is not all that counts.
func TestAHookThatRunsOnceJudgesOneCall(t *testing.T) {
	runs := 0
	h := hook.Hook{Event: "PreToolUse", Preview: true, Once: true, Func: func(context.Context, hook.Input) (hook.Output, error) {
		runs++
		return hook.Output{}, nil
	}}
	r := hook.New([]hook.Hook{h}, &hook.Options{})
	for _, id := range []string{"a", "a", "b"} {
		r.Effects(t.Context(), tool.Case{Tool: &tool.Tool{Name: "Bash"}, Call: &tool.Call{Tool: "Bash", ID: id}, Looked: true})
	}
	if runs != 2 {
		t.Errorf("it ran %d times for two looks at one call and one at another, want 2", runs)
	}
}
