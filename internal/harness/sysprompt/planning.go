package sysprompt

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/haftdev/haft/internal/guard/permission"
)

const planRules = `You are in plan mode: nothing can be changed, whatever you are asked to do. Read and search.`

const planSteps = `Find out what exists and what is wanted, weigh the options, ask the user about anything that is unclear, and write down what you will change, where, in which order, and how you will check it.`

const planAlone = `Find out what exists and what is wanted, weigh the options, and write down what you would change, where, in which order, and how you would check it.`

const planEnd = `When the plan is complete, show it with ExitPlanMode, and begin only when the user approves it.`

const planWritten = ` You may write it to %s first, the only file that you can change, and then call ExitPlanMode without a plan.`

const planAnswer = `No one can answer questions or approve a plan in this session, and the mode stays as it is: write the plan as your answer, with what is not clear and what you assumed.`

// Planning tells the model that it is in plan mode, and how to plan: at the
// beginning, after a compaction and whenever the mode has become that one. file returns
// where the plan may be written, or "".
func Planning(policy *permission.Engine, instructions string, interactive bool, file func() string) Reminder {
	var mu sync.Mutex
	told := false
	return func(_ context.Context, first bool) []string {
		mu.Lock()
		defer mu.Unlock()
		plans := policy.Policy().Mode() == permission.Plan
		tell := plans && (first || !told)
		told = plans
		if !tell {
			return nil
		}
		steps, end := planSteps, planEnd
		if path := file(); path != "" {
			end += fmt.Sprintf(planWritten, path)
		}
		if !interactive {
			steps, end = planAlone, planAnswer
		}
		return []string{planRules + "\n\n" + cmp.Or(instructions, steps) + "\n\n" + end}
	}
}
