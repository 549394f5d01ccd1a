package tools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/embed/tools"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("buy milk\n"), 0o600); err != nil {
		panic(err)
	}
	project, err := tools.Open(dir, &tools.Options{State: filepath.Join(dir, ".state")})
	if err != nil {
		panic(err)
	}
	defer project.Close()

	set := tool.NewSet(nil, []tool.Tool{tools.Read(project), tools.Grep(project), tools.Bash(project)}, nil, nil)
	policy := sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		if c.Call.Facts.Command != "" {
			return tool.Verdict{Behavior: tool.Deny, Message: "no commands today"}
		}
		return tool.Verdict{Behavior: tool.Allow}
	})
	calls := sched.New(&sched.Options{Judge: policy, Dir: project.Dir})
	for name, input := range map[string]string{"Read": `{"file_path":"note.txt"}`} {
		fmt.Println(calls.Call(context.Background(), set, "1", name, []byte(input)).Result.Text())
	}
	fmt.Println(calls.Call(context.Background(), set, "2", "Bash", []byte(`{"command":"make"}`)).Result.Text())
	// Output:
	// 1	buy milk
	// no commands today
}
