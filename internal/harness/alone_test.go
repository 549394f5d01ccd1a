package harness_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// TestWithoutAPersonNobodyAnswers lets a model ask in a session that has no person: it
// is told so, and no answer is made up.
func TestWithoutAPersonNobodyAnswers(t *testing.T) {
	const question = `{"questions":[{"question":"Which?","header":"Kind","options":[{"label":"A","description":""},{"label":"B","description":""}]}]}`
	for name, input := range map[string]string{"AskUserQuestion": question, "ExitPlanMode": `{"plan":"go"}`, "EnterPlanMode": `{}`} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.play([]script.Turn{uses(name, input), says("I see")}, nil)
			c := r.talk(harness.Options{}, harness.TalkOptions{})
			defer c.Close(t.Context())
			events, _ := r.say(c, "go")
			answers := 0
			for _, ev := range events {
				if ev, ok := ev.(agent.Returned); ok {
					answers++
					text := ev.Outcome.Result.Text()
					if !ev.Outcome.Result.Failed || !strings.Contains(text, "there is no user to answer") {
						t.Errorf("it says %q", text)
					}
				}
			}
			if answers != 1 {
				t.Errorf("%d calls were answered, want 1", answers)
			}
			if mode := c.World.Engine.Policy().Mode(); mode != "default" {
				t.Errorf("the mode is %s", mode)
			}
		})
	}
}
