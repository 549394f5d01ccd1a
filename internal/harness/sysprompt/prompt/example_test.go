package prompt_test

import (
	"fmt"

	"github.com/haftdev/haft/internal/harness/sysprompt/prompt"
	"github.com/haftdev/haft/tool"
)

// The system prompt is the same bytes for the same tools, so that a provider can cache it.
func ExampleSystem() {
	tools := tool.NewSet(nil, nil, nil, nil)
	first, second := prompt.System(&prompt.Options{Tools: tools}), prompt.System(&prompt.Options{Tools: tools})
	fmt.Println(len(first) > 0, first[0].Text == second[0].Text)
	// Output:
	// true true
}
