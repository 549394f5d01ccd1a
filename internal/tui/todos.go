package tui

import (
	"encoding/json"
	"fmt"
)

// A todo is a line of the model's list.
type todo struct {
	Content string `json:"content"`
	Active  string `json:"activeForm"`
	Status  string `json:"status"`
}

// todosOf reads the list as every front end gets it, as JSON.
func todosOf(value any) []todo {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var list []todo
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// todoLines are those of the list around what is being done, at most n.
func todoLines(list []todo, n int, v view) []string {
	done, at := 0, 0
	for i, t := range list {
		if t.Status == "completed" {
			done, at = done+1, i+1
		}
	}
	if len(list) == 0 || done == len(list) || n < 2 {
		return nil
	}
	from := max(0, min(at-1, len(list)-n))
	var lines []string
	for _, t := range list[from:min(from+n, len(list))] {
		switch t.Status {
		case "completed":
			lines = append(lines, v.paint.Dim.Of("  ☑ "+visible(t.Content)))
		case "in_progress":
			lines = append(lines, "  "+v.paint.Accent.Of("▸ ")+v.paint.Bold.Of(visible(t.Active)))
		default:
			lines = append(lines, "  ☐ "+visible(t.Content))
		}
	}
	if left := len(list) - len(lines); left > 0 {
		lines = append(lines, v.paint.Dim.Of(fmt.Sprintf("  %d of %d done", done, len(list))))
	}
	return lines
}
