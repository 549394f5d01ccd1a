package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/model"
)

// track keeps the tasks that may still wake the conversation.
func (a *Agent) track(t Task) {
	a.mu.Lock()
	if t.Background && t.Status == "running" {
		if a.tasks == nil {
			a.tasks = map[string]Task{}
		}
		a.tasks[t.ID] = t
	} else {
		delete(a.tasks, t.ID)
	}
	a.mu.Unlock()
	signal(a.work)
}

// Notify tells front ends and the model that a task has ended: at the next boundary of the
// running turn, or in a separate turn. The model is not told again what it already knows.
func (a *Agent) Notify(t Task) {
	a.mu.Lock()
	known := a.heard[t.ID]
	a.mu.Unlock()
	if !known {
		a.Send(Prompt{Origin: TaskNotification, Content: []model.Block{model.TextOf(notification(t))}, task: t.ID})
	}
	a.Emit(TaskChanged{Task: t, Change: "ended"})
}

// Heard records that a result has told the model about the end of a task. A queued
// notification of it is withdrawn.
func (a *Agent) Heard(task string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.heard == nil {
		a.heard = map[string]bool{}
	}
	a.heard[task] = true
	a.queue = slices.DeleteFunc(a.queue, func(p Prompt) bool { return p.task == task })
}

// escape keeps a command's own words from ending the field they are in.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// notification is how the model reads of the end of a task.
func notification(t Task) string {
	var b strings.Builder
	b.WriteString("<task-notification>\n")
	for _, f := range [][2]string{{"task-id", t.ID}, {"tool-use-id", t.UseID}, {"output-file", t.OutputFile}, {"status", t.Status}, {"summary", t.Summary}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "<%s>%s</%s>\n", f[0], escape.Replace(f[1]), f[0])
		}
	}
	b.WriteString("</task-notification>")
	return b.String()
}
