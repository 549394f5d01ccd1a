package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/tool"
)

// A hook in the same process denies what mentions a secret.
func Example() {
	guard := hook.Hook{
		Event: "PreToolUse", Matcher: "Bash|Write", Name: "guard",
		Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
			if use := in.Detail.(hook.PreToolUse); strings.Contains(string(use.ToolInput), "secret") {
				return hook.Output{Decision: "block", Reason: "secrets stay here"}, nil
			}
			return hook.Output{}, nil
		},
	}
	runner := hook.New([]hook.Hook{guard}, nil)
	defer runner.Close()
	for _, command := range []string{"ls", "cat secret"} {
		input, _ := json.Marshal(map[string]string{"command": command})
		verdict, _ := runner.Before(context.Background(), nil, &tool.Call{Tool: "Bash", Input: input})
		fmt.Printf("%s: %q\n", verdict.Behavior, verdict.Message)
	}
	// Output:
	// no view: ""
	// deny: "PreToolUse:Bash hook error: secrets stay here"
}
