package agent

import (
	"fmt"
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

// Notify tells front ends and the model that a task has ended: at the next
// boundary of the turn that runs, or in a turn of its own.
func (a *Agent) Notify(t Task) {
	a.Send(Prompt{Origin: TaskNotification, Content: []model.Block{model.TextOf(notification(t))}})
	a.Emit(TaskChanged{Task: t, Change: "ended"})
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
