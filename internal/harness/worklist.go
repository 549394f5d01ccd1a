package harness

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/session"
)

// The ways to keep a list of work, as the setting todoTools names them. A conversation has
// one: a model that is offered two keeps both, or half of each.
const (
	taskTools = "tasks" // TaskCreate, TaskGet, TaskList and TaskUpdate
	todoTool  = "todos" // TodoWrite
	noList    = "none"
)

// workList chooses how the conversation keeps its list of work: by the settings or the
// environment, by the tools that it is restricted to, by how the session began, or by what
// its model knows.
func (c *Conversation) workList(model string, restored *session.Restored) string {
	if chosen := c.World.chosenList(c.lead); chosen != "" {
		return chosen
	}
	if restored.Messages > 0 {
		switch begun := c.WorkList().(type) {
		case []task.Task:
			return taskTools
		case []todo.Item:
			if len(begun) > 0 {
				return todoTool
			}
		}
	}
	// The models to which the reference gives its Task tools were trained with them. Others
	// get the one tool that writes the whole list.
	if catalog.Lookup(model).Known {
		return taskTools
	}
	return todoTool
}

// chosenList is how conversations with a main agent keep their list of work, if the settings,
// the environment or the tools that they are restricted to say so.
func (w *World) chosenList(lead *agentdef.Definition) string {
	if set := w.Project.TodoTools(); set != "" {
		return set
	}
	if set := listByEnv(w.Project.ModelEnv().Get); set != "" {
		return set
	}
	return listNamed(w.Project.Only(lead))
}

// UnusedLists are the flags of a session that leave out the lists of work that no
// conversation has here; none if the model decides.
func (w *World) UnusedLists() map[string]bool {
	list := w.chosenList(w.lead)
	if list == "" {
		return nil
	}
	return map[string]bool{todo.OffFlag: list != todoTool, task.OffFlag: list != taskTools}
}

// background reports whether commands and agents may continue in the background. The variable by
// which the reference turns that off does so here, too.
func (w *World) background() bool {
	switch strings.ToLower(w.Project.ModelEnv().Get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS")) {
	case "", "0", "false", "no", "off":
		return true
	}
	return false
}

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
