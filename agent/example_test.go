package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/sysprompt/prompt"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func Example() {
	// A scripted model stands in for a real one.
	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
		{Blocks: []script.Block{{Text: "Let me ask."}, {Tool: "Echo", Input: json.RawMessage(`{"say":"hello"}`)}}},
		{Blocks: []script.Block{{Text: "It says hello."}}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	tools := tool.NewSet(nil, []tool.Tool{echo()}, nil, nil)
	a, err := agent.New(&agent.Options{
		Model:     anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "k"}),
		ModelName: "claude-opus-5-5",
		System:    prompt.System(&prompt.Options{Tools: tools}),
		Tools:     tools,
		Sched:     sched.Options{Judge: allow},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	a.Send(agent.Prompt{Content: []model.Block{model.TextOf("What does the echo say?")}})
	for ev, err := range a.Run(context.Background()) {
		switch ev := ev.(type) {
		case agent.Said:
			fmt.Println("said:", ev.Block.Type, ev.Block.Text+ev.Block.Name)
		case agent.Returned:
			fmt.Println("returned:", ev.Outcome.Result.Text())
		case agent.Result:
			fmt.Println("result:", ev.Reason, ev.Text)
		case nil:
			fmt.Println(err)
		}
	}
	// Output:
	// said: text Let me ask.
	// said: tool_use Echo
	// returned: hello
	// said: text It says hello.
	// result: completed It says hello.
}
