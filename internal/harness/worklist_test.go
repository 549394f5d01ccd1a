package harness_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/model/script"
)

// A conversation keeps one list of work, with the tools that its model knows or that the user chose.
func TestOneListOfWork(t *testing.T) {
	for _, c := range []struct {
		name, model, settings string
		env                   map[string]string
		tools                 []string
		want                  string
	}{
		{name: "a Claude model", want: "TaskCreate TaskGet TaskList TaskUpdate"},
		{name: "an older Claude model", model: "claude-haiku-4-5", want: "TaskCreate TaskGet TaskList TaskUpdate"},
		{name: "another model", model: "qwen3", want: "TodoWrite"},
		{name: "the setting todos", settings: `{"todoTools":"todos"}`, want: "TodoWrite"},
		{name: "the setting tasks", model: "qwen3", settings: `{"todoTools":"tasks"}`, want: "TaskCreate TaskGet TaskList TaskUpdate"},
		{name: "the setting none", settings: `{"todoTools":"none"}`, want: ""},
		{name: "the setting auto", settings: `{"todoTools":"auto"}`, want: "TaskCreate TaskGet TaskList TaskUpdate"},
		{name: "the setting over the environment", settings: `{"todoTools":"tasks"}`, env: map[string]string{"CLAUDE_CODE_ENABLE_TASKS": "0"}, want: "TaskCreate TaskGet TaskList TaskUpdate"},
		{name: "tasks off", env: map[string]string{"CLAUDE_CODE_ENABLE_TASKS": "false"}, want: "TodoWrite"},
		{name: "tasks on", model: "qwen3", env: map[string]string{"CLAUDE_CODE_ENABLE_TASKS": "1"}, want: "TaskCreate TaskGet TaskList TaskUpdate"},
		{name: "no list", env: map[string]string{"CLAUDE_CODE_ENABLE_TODO_TOOLS": "0"}, want: ""},
		{name: "a variable of the settings", settings: `{"env":{"CLAUDE_CODE_ENABLE_TASKS":"0"}}`, want: "TodoWrite"},
		{name: "TodoWrite is named", tools: []string{"Read", "TodoWrite"}, want: "TodoWrite"},
		{name: "a task tool is named", model: "qwen3", tools: []string{"Read", "TaskList", "ToolSearch"}, want: "TaskList"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			if c.settings != "" {
				home, _ := os.UserHomeDir()
				writeFile(t, filepath.Join(home, ".claude", "settings.json"), c.settings)
			}
			talk := r.talk(harness.Options{Tools: c.tools}, harness.TalkOptions{Model: c.model})
			defer talk.Close(t.Context())
			if got := strings.Join(listTools(talk.Agent.Tools().Session().Tools), " "); got != c.want {
				t.Errorf("the list is kept with %q, want %q", got, c.want)
			}
		})
	}
}

func listTools(names []string) (found []string) {
	for _, name := range names {
		if slices.Contains([]string{"TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}, name) {
			found = append(found, name)
		}
	}
	return found
}

// A session keeps the list that it has begun, whatever its next model knows; and a call of the other tool reads which one
// there is.
func TestAListIsKeptAsItWasBegun(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{
		uses("TodoWrite", `{"todos":[{"content":"look","status":"pending"}]}`), says("noted"),
		uses("TaskCreate", `{"subject":"a","description":"b"}`), says("no tasks"),
	}, nil)
	t.Setenv("CLAUDE_CODE_ENABLE_TASKS", "0")
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	r.say(c, "remember")
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	os.Unsetenv("CLAUDE_CODE_ENABLE_TASKS")
	again := r.talk(harness.Options{}, harness.TalkOptions{Continue: true})
	defer again.Close(t.Context())
	if got := strings.Join(listTools(again.Agent.Tools().Session().Tools), " "); got != "TodoWrite" {
		t.Errorf("a resumed session keeps its list with %q", got)
	}
	events, _ := r.say(again, "more")
	for _, ev := range events {
		if ret, ok := ev.(agent.Returned); ok && !strings.Contains(ret.Outcome.Result.Text(), "uses TodoWrite instead") {
			t.Errorf("TaskCreate said %q", ret.Outcome.Result.Text())
		}
	}
}

// An agent's definition that names the tool of one list gets the tools of the one that the session has, unless it denies them.
func TestADefinitionNamesEitherList(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{
		{Blocks: []script.Block{call("Agent", `{"description":"a","prompt":"ONE","subagent_type":"lister","run_in_background":false}`), call("Agent", `{"description":"b","prompt":"TWO","subagent_type":"denier","run_in_background":false}`)}}, says("done"),
	}, map[string][]script.Turn{"ONE": {says("one")}, "TWO": {says("two")}})
	c := r.talk(harness.Options{Agents: []agentdef.Definition{
		{Name: "lister", Description: "d", Prompt: "p", Tools: []string{"Read", "TodoWrite"}},
		{Name: "denier", Description: "d", Prompt: "p", Tools: []string{"Read", "TodoWrite"}, Denied: []string{"TaskCreate"}},
	}}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "go")
	tools := map[string]int{}
	for _, q := range r.server.Requests() {
		for _, prompt := range []string{"ONE", "TWO"} {
			if strings.Contains(string(q.Body), `"text":"`+prompt) {
				tools[prompt] = q.Tools
			}
		}
	}
	if tools["ONE"] != 5 || tools["TWO"] != 4 { // Read and those for tasks: without a search nothing is deferred
		t.Errorf("tools of the agents: %v, want 5 and 4", tools)
	}
}
