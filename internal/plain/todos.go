package plain

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/haftdev/haft/internal/visible"
)

// todos prints the list. The tools' own types are not needed for that: they are what
// goes to every front end, as JSON. Tasks are added one by one, each with a line of its
// own: their list is printed once one is begun.
func (p *Printer) todos(value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	type item struct {
		Content    string `json:"content"`
		Subject    string `json:"subject"`
		ActiveForm string `json:"activeForm"`
		Status     string `json:"status"`
	}
	var list []item
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	if !slices.ContainsFunc(list, func(i item) bool { return i.Subject == "" || i.Status != "pending" }) {
		return
	}
	for _, t := range list {
		what := cmp.Or(t.Content, t.Subject)
		switch t.Status {
		case "completed":
			p.line(dim, "  [x] %s", visible.Indented(what))
		case "in_progress":
			p.line(bold, "  [>] %s", visible.Indented(cmp.Or(t.ActiveForm, what)))
		default:
			p.line(dim, "  [ ] %s", visible.Indented(what))
		}
	}
}
