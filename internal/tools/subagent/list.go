package subagent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/tool"
)

// A Listed is an agent of the session that can be sent messages.
type Listed struct {
	ID          string    `json:"id"`
	Kind        string    `json:"type"`
	Name        string    `json:"name,omitempty"`
	Team        string    `json:"team,omitempty"`
	Description string    `json:"description"`
	State       string    `json:"state"` // running, lost, or how its work ended
	Tokens      int64     `json:"tokens"`
	ToolUses    int       `json:"toolUses"`
	Began       time.Time `json:"began,omitzero"`
}

// listInput is what the model sends to ListAgents.
type listInput struct {
	Query   string `json:"q,omitempty" jsonschema:"Only agents with this in their id, name, type or description." haft:"alias=query"`
	Channel string `json:"channel,omitempty" jsonschema:"Has no effect: the agents of this session are listed."`
}

// listOutput is what programs get from ListAgents.
type listOutput struct {
	Agents []Listed `json:"agents"`
}

func newList(crew Crew) tool.Tool {
	return tool.New(tool.Def[listInput, listOutput]{
		Name:       "ListAgents",
		SearchHint: "list agents running finished teammates status ids",
		Description: "Lists the agents of this session with their ids, tasks and states: running, or how their work ended. " +
			"You are told when an agent finishes; do not call this in a loop.",
		Marks: func(listInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Polling: true, Effect: tool.Pure}
		},
		Permission: harmless[listInput],
		Run: func(_ context.Context, _ *tool.Call, in listInput) (listOutput, error) {
			out := listOutput{Agents: []Listed{}}
			for _, a := range crew.Listed() {
				all := strings.ToLower(strings.Join([]string{a.ID, a.Name, a.Kind, a.Description}, "\n"))
				if strings.Contains(all, strings.ToLower(in.Query)) {
					out.Agents = append(out.Agents, a)
				}
			}
			return out, nil
		},
		Render:    listOutput.render,
		Summarize: func(in listInput) string { return in.Query },
		Deferred:  true,
	})
}

// render says how the list reads to the model.
func (o listOutput) render() tool.Result {
	if len(o.Agents) == 0 {
		return tool.Text("No agents match.")
	}
	var lines []string
	for _, a := range o.Agents {
		name := a.ID
		if a.Name != "" {
			name += " (" + a.Name + ")"
		}
		if a.Team != "" {
			name += " of team " + a.Team
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s: %s", name, a.State, a.Kind, strings.Join(strings.Fields(a.Description), " ")))
	}
	return tool.Text(strings.Join(lines, "\n"))
}
