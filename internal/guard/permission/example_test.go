package permission_test

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/tool"
)

// A program asks the rules about calls before they run.
func ExamplePolicy_Decide() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	files, err := workspace.Open(dir, &workspace.Options{Home: dir, State: dir + "/.state"})
	if err != nil {
		panic(err)
	}
	defer files.Close()

	policy := permission.NewPolicy(permission.Options{Guard: files.Guard(), Rules: []permission.Rule{
		{Text: "Bash(go test:*)", Behavior: tool.Allow},
		{Text: "Bash(git push:*)", Behavior: tool.Deny},
	}})
	tools := tool.NewSet(nil, builtin.Unattached(), nil, nil)
	for _, command := range []string{"go test ./...", "git status", "go test ./... && git push", "make install"} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			panic(err)
		}
		bash := tools.Lookup("Bash")
		d := policy.Decide(tool.Case{Tool: bash, Call: &tool.Call{Tool: "Bash", Input: input}})
		fmt.Println(command, "→", d.Behavior)
	}
	// Output:
	// go test ./... → allow
	// git status → allow
	// go test ./... && git push → deny
	// make install → ask
}
