package prompt_test

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/tool"
)

func ExampleTemplate_Expand() {
	text := "Fix issue $1. It says: !`gh issue view $1`"
	// Calls would take the command through the pipeline.
	calls := func(_ context.Context, r prompt.Request) (tool.Result, error) {
		return tool.Text(fmt.Sprintf("(what %s %s prints)", r.Tool, r.Input)), nil
	}
	out, err := prompt.Parse(text).Expand(context.Background(), prompt.Use{Arguments: "42"}, calls)
	fmt.Println(out, err)
	// Output: Fix issue 42. It says: (what Bash {"command":"gh issue view 42"} prints) <nil>
}
