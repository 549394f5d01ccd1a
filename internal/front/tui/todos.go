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

// toggleTodos shows or hides the list.
func (a *app) toggleTodos() {
	switch {
	case len(a.todos) == 0:
		a.hint = a.t("there are no todos")
	case a.todoView == todosShown || a.todoView == todosAtWork && a.working != nil:
		a.todoView = todosHidden
	default:
		a.todoView = todosShown
	}
}

// todoLines are those of the list that are shown now.
func (a *app) todoLines(v view, room int) []string {
	switch {
	case a.todoView == todosHidden || a.todoView == todosAtWork && a.working == nil:
		return nil
	case a.todoView == todosShown:
		return linesOf(a.todos, min(len(a.todos), max(room/2, 2)), v)
	}
	done := 0
	for _, t := range a.todos {
		if t.Status == "completed" {
			done++
		}
	}
	if done == len(a.todos) {
		return nil
	}
	return linesOf(a.todos, min(8, room/3), v)
}

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
