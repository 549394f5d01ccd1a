package harness

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/knowledge/agentdef"
)

// The ways to keep a list of work, as the setting todoTools names them. A conversation has
// one: a model that is offered two keeps both, or half of each.
const (
	taskTools = "tasks" // TaskCreate, TaskGet, TaskList and TaskUpdate
	todoTool  = "todos" // TodoWrite
	noList    = "none"
)

// listByEnv reads the variables by which the reference chooses; "" leaves it open.
func listByEnv(getenv func(string) string) string {
	off := func(name string) bool {
		switch strings.ToLower(getenv(name)) {
		case "0", "false", "no", "off":
			return true
		}
		return false
	}
	switch {
	case off("CLAUDE_CODE_ENABLE_TODO_TOOLS"):
		return noList
	case off("CLAUDE_CODE_ENABLE_TASKS"):
		return todoTool
	case getenv("CLAUDE_CODE_ENABLE_TASKS") != "":
		return taskTools
	}
	return ""
}

// listNamed is the list that a restriction names; "" if it names none or both.
func listNamed(only []string) string {
	todos, tasks := slices.Contains(only, listTools[0]), slices.ContainsFunc(only, func(name string) bool { return slices.Contains(listTools[1:], name) })
	switch {
	case todos && !tasks:
		return todoTool
	case tasks && !todos:
		return taskTools
	}
	return ""
}

// listTools are the tools of both lists.
var listTools = []string{"TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}

// hasTool reports whether an agent may have a tool. A definition that names the tool of one
// list of work means any list of work: it was written for sessions with that one.
func hasTool(d agentdef.Definition, name string) bool {
	if slices.Contains(listTools, name) && d.Tools != nil && slices.ContainsFunc(listTools, d.Has) {
		d.Tools = append(slices.Clip(d.Tools), name)
	}
	return d.Has(name)
}
