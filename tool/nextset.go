package tool

import (
	"bytes"
	"context"
)

// gone is the key of [Tool.Meta] by which a withdrawn tool is known.
const gone = "gone"

// withdrawn returns a tool that the model was told about and that is no longer offered.
func withdrawn(t *Tool) *Tool {
	w := *t
	w.Meta = map[string]any{gone: true}
	w.Marks = func(*Call) Marks { return Marks{ReadOnly: true, ConcurrencySafe: true, Effect: Pure} }
	w.Validate = nil
	w.Permission = func(context.Context, *Call) Verdict {
		return Verdict{Behavior: Allow, Reason: "the tool is no longer available, so the call does nothing"}
	}
	w.Run = func(context.Context, *Call) (Result, error) {
		return Result{}, Errorf("%s is no longer available: %s is not connected. Continue without it.", w.Name, w.origin())
	}
	return &w
}

func sameShape(a *Set, was *Tool, b *Set, is *Tool) bool {
	return a.Description(was) == b.Description(is) && bytes.Equal(a.View(was).JSON(), b.View(is).JSON())
}
