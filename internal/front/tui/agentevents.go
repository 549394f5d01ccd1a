package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
)

// working is a turn that runs.
type working struct {
	since time.Time
	texts map[int]*text // blocks of the answer that is streamed
	think map[int]*thought
	calls map[string]*call // by use id
	stops bool             // it was interrupted
	says  string           // what goes on instead of an answer
}

// listTools are those whose calls are shown as the one list that they change.
var listTools = []string{"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"}

// tells reports whether a result has all lines that a change adds or removes.
func tells(result string, lines []string) bool {
	return !slices.ContainsFunc(lines, func(l string) bool {
		return l != "" && l[0] != ' ' && !strings.Contains(result, l[1:])
	})
}

// typedText is what the user typed for a prompt.
func typedText(p agent.Prompt) string { return cmp.Or(p.Said, promptText(p.Content)) }

// promptText is what a person sees of what they said.
func promptText(blocks []model.Block) string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Type == model.Text:
			parts = append(parts, b.Text)
		default:
			parts = append(parts, "["+string(b.Type)+"]")
		}
	}
	return strings.Join(parts, "\n")
}
