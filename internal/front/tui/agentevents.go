package tui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
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

// fullCall is all of a call: what was sent, what decided, what came back.
func fullCall(out *sched.Outcome, end card.Ending) string {
	text := "input " + plainjson.Indented(out.Input) + "\n"
	if end.Verdict != "" {
		text += end.Verdict + "\n"
	}
	text += "\n" + out.Result.Text()
	for _, h := range end.Hunks {
		if !tells(out.Result.Text(), h.Lines) {
			text += "\n" + strings.Join(h.Lines, "\n")
		}
	}
	return text
}

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

// todosOf reads the list as every front end gets it, as JSON.
func todosOf(value any) []todo {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var items []struct {
		todo
		Subject string `json:"subject"` // of a task
	}
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var list []todo
	for _, i := range items {
		i.Content = cmp.Or(i.Content, i.Subject)
		i.Active = cmp.Or(i.Active, i.Content)
		list = append(list, i.todo)
	}
	return list
}
