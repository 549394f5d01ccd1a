package plain

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/visible"
)

// todos prints the list. The tool's own type is not needed for that: it is the
// one that goes to every front end, as JSON.
func (p *Printer) todos(value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	var list []struct {
		Content    string `json:"content"`
		ActiveForm string `json:"activeForm"`
		Status     string `json:"status"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, t := range list {
		switch t.Status {
		case "completed":
			p.line(dim, "  [x] %s", visible.Indented(t.Content))
		case "in_progress":
			p.line(bold, "  [>] %s", visible.Indented(t.ActiveForm))
		default:
			p.line(dim, "  [ ] %s", visible.Indented(t.Content))
		}
	}
}
