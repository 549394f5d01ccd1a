package session

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// exportHTML writes one page without scripts. Everything that was said is text in it.
func exportHTML(w io.Writer, e *Entry) error {
	for _, b := range e.Message.Content {
		var err error
		switch b.Type {
		case model.Text:
			_, err = fmt.Fprintf(w, "<h2>%s</h2>\n<pre>%s</pre>\n", e.Message.Role, html.EscapeString(strings.TrimSpace(b.Text)))
		case model.ToolUse:
			_, err = fmt.Fprintf(w, "<details><summary>%s</summary>\n<pre>%s</pre></details>\n", html.EscapeString(b.Name), html.EscapeString(plainjson.Indented(b.Input)))
		case model.ToolResult:
			_, err = fmt.Fprintf(w, "<details><summary>result</summary>\n<pre>%s</pre></details>\n", html.EscapeString(tool.JoinText(b.Content)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
