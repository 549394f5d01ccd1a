package harness_test

import (
	"context"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func TestACompactionKeepsThePlanAndTheTasks(t *testing.T) {
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("ToolSearch", `{"query":"select:ExitPlanMode,TaskCreate,TaskUpdate"}`)}},
		script.Turn{Blocks: []script.Block{call("ExitPlanMode", `{"plan":"First the parser, then the printer."}`)}},
		script.Turn{Blocks: []script.Block{
			call("TaskCreate", `{"subject":"mend the parser","description":"it loops"}`),
			call("TaskCreate", `{"subject":"thank everybody","description":"warmly"}`),
		}},
		script.Turn{Blocks: []script.Block{call("TaskUpdate", `{"taskId":"2","status":"completed"}`)}},
		script.Turn{Blocks: []script.Block{{Text: "started"}}},
		script.Turn{Blocks: []script.Block{{Text: "<summary>much was said</summary>"}}},
	)
	agrees := sched.AskerFunc(func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
		return tool.Verdict{Behavior: tool.Allow}, nil
	})
	c := r.talk(harness.Options{Mode: "plan"}, harness.TalkOptions{Interactive: true, Person: agrees})
	id := c.Agent.Session()
	r.say(c, "plan it")
	r.close(c) // the plan outlives the process, too
	c = r.talk(harness.Options{}, harness.TalkOptions{Resume: id})
	defer c.Close(t.Context())
	c.Agent.Compact("")
	before := len(r.server.Requests())
	r.say(c, "go on")                                  // the script begins again with the conversation
	body := string(r.server.Requests()[before+1].Body) // the one after that for the summary
	for _, want := range []string{"much was said", "The last plan that the user approved", "First the parser, then the printer.", "mend the parser"} {
		if !strings.Contains(body, want) {
			t.Errorf("after the compaction the model does not know %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "thank everybody") {
		t.Errorf("what is done is carried along:\n%s", body)
	}
}
