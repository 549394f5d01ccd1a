package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/lsp"
	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/webpage"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/tool"
)

// named are the tools of section D of the specification, by the package that each is
// implemented and held against the conformance suite in.
var named = map[string]string{
	"Read": "read", "Write": "write", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "notebook",
	"Glob": "glob", "Grep": "grep",
	"Bash": "bash", "BashOutput": "bash", "KillShell": "bash", "Monitor": "bash", "TaskOutput": "bash", "TaskStop": "bash",
	"WebFetch": "webfetch", "WebSearch": "websearch",
	"Agent": "subagent", "Task": "subagent", "SendMessage": "subagent", "TeamCreate": "subagent", "TeamDelete": "subagent",
	"TodoWrite": "todo", "TaskCreate": "task", "TaskGet": "task", "TaskList": "task", "TaskUpdate": "task",
	"Skill": "skill", "SlashCommand": "slashcommand",
	"AskUserQuestion": "question", "EnterPlanMode": "plan", "ExitPlanMode": "plan",
	"ListMcpResources": "mcpresource", "ReadMcpResource": "mcpresource",
	"REPL": "repl", "LSP": "lsp", "PushNotification": "notify", "ListAgents": "subagent", "ReadMcpResourceDir": "mcpresource", "RefreshMcpTools": "mcpresource", "ScheduleWakeup": "schedule", "CronCreate": "schedule", "CronList": "schedule", "CronDelete": "schedule", "ToolSearch": "toolsearch", "Sleep": "sleep", "EnterWorktree": "worktree", "ExitWorktree": "worktree",
}

// TestEveryToolOfTheSpecificationIsThere finds each name, as a tool or an alias, in a
// world that has everything, and a run of the conformance suite in its package.
func TestEveryToolOfTheSpecificationIsThere(t *testing.T) {
	world := everything(t)
	session := &tool.Session{Interactive: true, Flags: map[string]bool{bash.BackgroundFlag: true, mcpresource.Flag: true}}
	tools := world.Tools()
	for i := range tools {
		if err := tools[i].Check(); err != nil {
			t.Errorf("%s: %v", tools[i].Name, err)
		}
		if named[tools[i].Name] == "" {
			t.Errorf("add %s to the list 'named' in names_test.go, with the package that it is in", tools[i].Name)
		}
	}
	for name, pkg := range named {
		if !slices.Contains(builtin.Names(), name) {
			t.Errorf("Names lacks %s", name)
		}
		if !slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Name == name || slices.Contains(t.Aliases, name) }) {
			t.Errorf("there is no %s", name)
		}
		if !conforms(t, pkg) {
			t.Errorf("no test of tool/%s, where %s is, runs tooltest", pkg, name)
		}
	}
	if set := tool.NewSet(session, tools, nil, nil); len(set.All()) < 25 {
		t.Errorf("a session gets %d tools only", len(set.All()))
	}
}

// everything is a world with a part for every tool.
func everything(t *testing.T) builtin.World {
	t.Helper()
	dir := t.TempDir()
	files, err := workspace.Open(dir, &workspace.Options{Home: dir, State: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	host := shellrun.NewHost(&shellrun.Options{})
	t.Cleanup(func() { host.Close() })
	return builtin.World{
		Files: files, Shell: bash.New(host, nil), Interpreters: repl.New(host, nil), Languages: lsp.New(nil), Schedule: schedule.New(nil), Notify: func(context.Context, string) []string { return nil }, Search: search.New(nil), Dir: func() string { return dir },
		Todos: todo.NewList(nil), Tasks: task.NewStore(dir, nil), Web: new(webpage.Fetcher),
		Skills: skill.New(nil, nil), Commands: command.New(command.Options{}), Crew: nobody{}, Servers: nobody{},
	}
}

// conforms reports whether a test of a package runs the conformance suite.
func conforms(t *testing.T, pkg string) bool {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(tests, func(path string) bool {
		raw, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(raw), "tooltest.Run(t, ")
	})
}

// nobody is a crew without agents, and hosts no servers.
type nobody struct{}

func (nobody) Agents() []subagent.Kind { return nil }
func (nobody) Run(context.Context, subagent.Job, func(tool.AgentProgress)) subagent.Report {
	return subagent.Report{}
}
func (nobody) Start(context.Context, subagent.Job) (subagent.Started, error) {
	return subagent.Started{}, nil
}
func (nobody) Send(context.Context, subagent.Message) (subagent.Sent, error) {
	return subagent.Sent{}, nil
}
func (nobody) Listed() []subagent.Listed                                            { return nil }
func (nobody) RefreshTools(context.Context, string) ([]mcp.Status, error)           { return nil, nil }
func (nobody) Reruns(string) string                                                 { return "" }
func (nobody) NewTeam(context.Context, string, string) (string, error)              { return "", nil }
func (nobody) EndTeam(context.Context, string) ([]string, error)                    { return nil, nil }
func (nobody) Resources(context.Context, string) ([]mcp.Resource, error)            { return nil, nil }
func (nobody) ReadResource(context.Context, string, string) ([]mcp.Contents, error) { return nil, nil }
