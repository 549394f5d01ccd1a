package sysprompt

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
)

// Carry is what a compaction must not lose: the plan that the user agreed to, nil for none,
// and what is left to do.
func Carry(plan *string, todos *todo.List, store *task.Store) (texts []string) {
	if plan != nil {
		texts = append(texts, "The last plan that the user approved (see the rest of the summary for progress):\n"+*plan)
	}
	list := func(what string, items any) {
		if raw, err := json.Marshal(items); err == nil {
			texts = append(texts, "The "+what+" at this point:\n"+string(raw))
		}
	}
	if items := todos.Items(""); len(items) > 0 {
		list("todo list", items)
	}
	tasks, err := store.Load()
	if err != nil {
		return append(texts, "The task list cannot be read: "+err.Error())
	}
	if open := openTasks(tasks.Tasks); len(open) > 0 {
		list("task list, without completed tasks and TaskGet details,", open)
	}
	return texts
}

// openTasks are what is left to do, in short.
func openTasks(all []task.Task) (open []task.Task) {
	for _, t := range all {
		if t.Status != task.Completed {
			open = append(open, task.Task{ID: t.ID, Subject: t.Subject, Status: t.Status, Owner: t.Owner, BlockedBy: t.BlockedBy})
		}
	}
	return open
}
