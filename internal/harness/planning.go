package harness

import (
	"cmp"
	"context"
	"sync"

	"github.com/haftdev/haft/permission"
)

const planRules = `You are in plan mode: nothing can be changed, whatever you are asked to do. Read, search and ask.`

const planSteps = `Find out what there is and what is wanted, weigh the ways to do it, settle what is not clear with the person, and write down what you will change, where, in which order, and how you will check it.`

const planEnd = `When the plan stands, show it with ExitPlanMode, and begin only when it is agreed to.`

// planning tells the model that it is in plan mode, and how to plan: at the
// beginning, after a compaction and whenever the mode has become that one.
func (w *World) planning(instructions string) func(context.Context, bool) []string {
	var mu sync.Mutex
	told := false
	return func(_ context.Context, first bool) []string {
		mu.Lock()
		defer mu.Unlock()
		plans := w.Engine.Policy().Mode() == permission.Plan
		tell := plans && (first || !told)
		told = plans
		if !tell {
			return nil
		}
		return []string{planRules + "\n\n" + cmp.Or(instructions, planSteps) + "\n\n" + planEnd}
	}
}

// together tells what each of several has to tell.
func together(parts ...func(context.Context, bool) []string) func(context.Context, bool) []string {
	return func(ctx context.Context, first bool) (texts []string) {
		for _, part := range parts {
			texts = append(texts, part(ctx, first)...)
		}
		return texts
	}
}
