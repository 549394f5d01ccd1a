package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A program gives the tools what they act on. Those that lack a part are left out.
func ExampleWorld() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("buy milk\n"), 0o600); err != nil {
		panic(err)
	}
	files, err := workspace.Open(dir, &workspace.Options{State: filepath.Join(dir, ".state")})
	if err != nil {
		panic(err)
	}
	defer files.Close()

	tools := tool.NewSet(nil, builtin.World{Files: files, Todos: todo.NewList(nil)}.Tools(), nil, nil)
	allow := sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { return tool.Verdict{Behavior: tool.Allow} })
	out := sched.New(&sched.Options{Judge: allow}).Call(context.Background(), tools, "1", "Read", fmt.Appendf(nil, `{"file_path":%q}`, note))
	fmt.Println(out.Status)
	fmt.Println(out.Result.Text())
	// Output:
	// succeeded
	// 1	buy milk
}
