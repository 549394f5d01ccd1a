package tui

import (
	"github.com/haftdev/haft/internal/text/visible"
)

// A todo is a line of the model's list.
type todo struct {
	Content string `json:"content"`
	Active  string `json:"activeForm"`
	Status  string `json:"status"`
}

// todoView is whether the list is shown.
type todoView int

const (
	todosAtWork todoView = iota // in a turn, a few lines of it
	todosShown                  // always, as much of it as there is room for
	todosHidden
)

// linesOf are the lines of a list around what is being done, at most n.
func linesOf(list []todo, n int, v view) []string {
	done, at := 0, 0
	for i, t := range list {
		if t.Status == "completed" {
			done, at = done+1, i+1
		}
	}
	if len(list) == 0 || n < 2 && len(list) > 1 {
		return nil
	}
	from := max(0, min(at-1, len(list)-n))
	var lines []string
	for _, t := range list[from:min(from+n, len(list))] {
		switch t.Status {
		case "completed":
			lines = append(lines, v.paint.Dim.Of("  ☑ "+visible.ProseCells(t.Content)))
		case "in_progress":
			lines = append(lines, "  "+v.paint.Accent.Of("▸ ")+v.paint.Bold.Of(visible.ProseCells(t.Active)))
		default:
			lines = append(lines, "  ☐ "+visible.ProseCells(t.Content))
		}
	}
	if left := len(list) - len(lines); left > 0 {
		lines = append(lines, v.paint.Dim.Of("  "+v.t("%d of %d done", done, len(list))))
	}
	return lines
}

// A listBlock is the list as it was at the end of a turn.
type listBlock struct{ list []todo }

func (b *listBlock) take(v view) ([]string, bool) { return linesOf(b.list, len(b.list), v), true }
func (b *listBlock) tail(v view) []string         { return linesOf(b.list, len(b.list), v) }
func (b *listBlock) close()                       {}
func (b *listBlock) compact() bool                { return false }
