package bash

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/shellrun"
)

// Announcement is what the conversation is told when a background command ends:
// the text of a user message, in the form that models know. It is for the OnEnd
// function of the host's options.
func Announcement(task *shellrun.Task) string {
	r := task.Result()
	what := task.Description()
	if what == "" {
		what = brief(task.Command())
	}
	summary := fmt.Sprintf("Background command %q %s (exit code %d)", what, status(task), r.Status.Code)
	if r.State == shellrun.TimedOut {
		summary = fmt.Sprintf("Background command %q was ended at its timeout", what)
	}
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	var b strings.Builder
	b.WriteString("<task-notification>\n")
	for _, field := range [][2]string{
		{"task-id", task.ID()}, {"tool-use-id", task.Tag()}, {"output-file", task.Output().Path()},
		{"status", status(task)}, {"summary", summary},
	} {
		if field[1] == "" {
			continue
		}
		b.WriteString("<" + field[0] + ">" + escape.Replace(field[1]) + "</" + field[0] + ">\n")
	}
	b.WriteString("</task-notification>")
	return b.String()
}
