package toolsearch

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/tool"
)

// doorInput is what the model sends to call a tool through the door.
type doorInput struct {
	Tool  string         `json:"tool" jsonschema:"The name of the tool." haft:"min=1;max=128;example=Sleep"`
	Input map[string]any `json:"input,omitempty" jsonschema:"Its input."`
}

// NewDoor returns the tool through which the model calls tools that a request does not
// describe; see [tool.SetOptions.Door]. The call becomes that of the named tool before
// anything judges or runs it, so the tool itself runs only if there is no tool of the name.
func NewDoor() tool.Tool {
	return tool.New(tool.Def[doorInput, string]{
		Name:        tool.DoorName,
		SearchHint:  "call run a tool by name",
		Description: "Calls, by name, a tool that is not in your list: one that ToolSearch found or that was added later.",
		Marks: func(doorInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Permission: func(context.Context, *tool.Call, doorInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "it does not call a tool"}
		},
		Run: func(_ context.Context, c *tool.Call, in doorInput) (string, error) {
			var names []string
			if c.Tools != nil {
				names = c.Tools.Session().Tools
			}
			return fmt.Sprintf("There is no tool named %q to call.%s", in.Tool, near.Hint(in.Tool, names)), nil
		},
		Render:    tool.Failure,
		Summarize: func(in doorInput) string { return in.Tool },
	})
}
