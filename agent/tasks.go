package agent

import (
	"fmt"
	"strings"
)

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
