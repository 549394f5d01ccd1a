package tools_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/embed/tools"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// Every tool that needs no conversation of haft has a function, and does its work.
func TestEveryToolWorks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	project, err := tools.Open(dir, &tools.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer project.Close()
	if err := os.WriteFile(filepath.Join(dir, "book.ipynb"), []byte(`{"cells":[{"cell_type":"code","id":"a","metadata":{},"outputs":[],"execution_count":null,"source":["1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	web, err := tools.WebFetch("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	set := tool.NewSet(&tool.Session{Interactive: true, Flags: map[string]bool{"background": true}}, []tool.Tool{
		tools.Read(project), tools.Write(project), tools.Edit(project), tools.MultiEdit(project), tools.NotebookEdit(project), tools.Glob(project), tools.Grep(project),
		tools.Bash(project), tools.BashOutput(project), tools.KillShell(project), tools.Monitor(project), tools.REPL(project),
		tools.TodoWrite(), tools.AskUserQuestion(), tools.Sleep(), web,
	}, nil, nil)
	allow := sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { return tool.Verdict{Behavior: tool.Allow} })
	calls := sched.New(&sched.Options{Judge: allow, Dir: project.Dir})
	tested := map[string]bool{"REPL": true, "AskUserQuestion": true, "WebFetch": true} // need an interpreter, a user, a server
	for _, c := range []struct{ tool, input, want string }{
		{"Write", `{"file_path":"a.txt","content":"one two\n"}`, "File created"},
		{"Read", `{"file_path":"a.txt"}`, "one two"},
		{"Edit", `{"file_path":"a.txt","old_string":"one","new_string":"three"}`, "three two"},
		{"MultiEdit", `{"file_path":"a.txt","edits":[{"old_string":"two","new_string":"four"}]}`, "three four"},
		{"Read", `{"file_path":"book.ipynb"}`, "a"},
		{"NotebookEdit", `{"notebook_path":"book.ipynb","cell_id":"a","new_source":"2"}`, "a"},
		{"Glob", `{"pattern":"*.txt"}`, "a.txt"},
		{"Grep", `{"pattern":"four"}`, "a.txt"},
		{"Bash", `{"command":"mkdir sub && cd sub && echo made"}`, "made"},
		{"Write", `{"file_path":"b.txt","content":"where the shell is"}`, filepath.Join("sub", "b.txt")},
		{"BashOutput", `{"bash_id":"nope"}`, "nope"},
		{"KillShell", `{"shell_id":"nope"}`, "nope"},
		{"Monitor", `{"file_path":"b.txt","timeout":1}`, "within the timeout"},
		{"TodoWrite", `{"todos":[{"content":"Run it","status":"pending"}]}`, ""},
		{"Sleep", `{"duration_ms":1}`, "Slept"},
	} {
		tested[c.tool] = true
		if got := calls.Call(t.Context(), set, "1", c.tool, []byte(c.input)).Result.Text(); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.tool, c.input, got)
		}
	}
	known := map[string]bool{}
	for _, name := range builtin.Names() {
		known[name] = true
	}
	for _, own := range set.All() {
		if !tested[own.Name] {
			t.Errorf("%s is not tested", own.Name)
		}
		if !known[own.Name] {
			t.Errorf("haft has no %s", own.Name)
		}
	}
}
