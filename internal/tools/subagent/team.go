package subagent

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool"
)

//go:embed message.md
var messageDescription string

// sendInput is what the model sends to SendMessage.
type sendInput struct {
	To      string `json:"to" jsonschema:"The agent's id or its name; main is the main conversation." haft:"min=1;max=200;example=a1b2c3"`
	Message string `json:"message" jsonschema:"What to say." haft:"min=1"`
	Summary string `json:"summary,omitempty" jsonschema:"The message in a few words, for the user." haft:"max=200"`

	NotifyWhenIdle bool `json:"notify_when_idle,omitempty" haft:"ignored"` // the caller is always told
}

// sendOutput is what programs get from SendMessage.
type sendOutput struct {
	Success bool   `json:"success"`
	To      string `json:"to"`
	Woken   bool   `json:"resumed"`
}

func newSend(crew Crew) tool.Tool {
	return tool.New(tool.Def[sendInput, sendOutput]{
		Name:        "SendMessage",
		SearchHint:  "message agent continue resume teammate talk",
		Description: messageDescription,
		Marks:       func(sendInput) tool.Marks { return tool.Marks{ReadOnly: true} },
		Permission:  harmless[sendInput],
		Run: func(ctx context.Context, c *tool.Call, in sendInput) (sendOutput, error) {
			sent, err := crew.Send(ctx, Message{From: c.Agent, To: in.To, Text: in.Message})
			return sendOutput{Success: err == nil, To: sent.To, Woken: sent.Woken}, err
		},
		Render: func(out sendOutput) tool.Result {
			if out.Woken {
				return tool.Text(out.To + " had finished and is working again. You will be told when it is done.")
			}
			return tool.Text(out.To + " will receive it before its next step.")
		},
		Summarize: func(in sendInput) string { return in.To + " " + in.Summary },
	})
}

func harmless[In any](context.Context, *tool.Call, In) tool.Verdict {
	return tool.Verdict{Behavior: tool.Allow, Reason: "each of the agent's calls is judged separately"}
}

// teamInput is what the model sends to TeamCreate.
type teamInput struct {
	Name        string `json:"team_name" jsonschema:"The team's name." haft:"min=1;max=64;example=porting"`
	Description string `json:"description,omitempty" jsonschema:"What it is for." haft:"max=1000"`
}

// teamOutput is what programs get from TeamCreate.
type teamOutput struct {
	Team  string `json:"team_name"`
	Tasks string `json:"task_list,omitempty"` // where its tasks are kept
}

func newTeam(crew Crew) tool.Tool {
	return tool.New(tool.Def[teamInput, teamOutput]{
		Name:       "TeamCreate",
		SearchHint: "team teammates together swarm shared tasks",
		Description: "Creates a team: agents started with its team_name and a name work in parallel, share one task list " +
			"(TaskCreate, TaskList, TaskUpdate), and talk with SendMessage. You lead the team and are told when each member finishes.",
		Marks:      func(teamInput) tool.Marks { return tool.Marks{ReadOnly: true} },
		Permission: harmless[teamInput],
		Run: func(ctx context.Context, _ *tool.Call, in teamInput) (teamOutput, error) {
			tasks, err := crew.NewTeam(ctx, in.Name, in.Description)
			return teamOutput{Team: in.Name, Tasks: tasks}, err
		},
		Render: func(out teamOutput) tool.Result {
			return tool.Text(fmt.Sprintf("The team %s is ready. Start its members with Agent, each with team_name %q and a name.", out.Team, out.Team))
		},
		Summarize: func(in teamInput) string { return in.Name },
		Deferred:  true,
	})
}

// endTeamInput is what the model sends to TeamDelete.
type endTeamInput struct {
	Name string `json:"team_name" jsonschema:"The team." haft:"min=1;max=64"`
}

// endTeamOutput is what programs get from TeamDelete.
type endTeamOutput struct {
	Team    string   `json:"team_name"`
	Stopped []string `json:"stopped"`
}

func newEndTeam(crew Crew) tool.Tool {
	return tool.New(tool.Def[endTeamInput, endTeamOutput]{
		Name:        "TeamDelete",
		SearchHint:  "end team stop teammates",
		Description: "Ends a team. Members that are still working are stopped; their changes stay.",
		Marks:       func(endTeamInput) tool.Marks { return tool.Marks{} },
		Permission:  harmless[endTeamInput],
		Run: func(ctx context.Context, _ *tool.Call, in endTeamInput) (endTeamOutput, error) {
			stopped, err := crew.EndTeam(ctx, in.Name)
			return endTeamOutput{Team: in.Name, Stopped: append([]string{}, stopped...)}, err
		},
		Render: func(out endTeamOutput) tool.Result {
			if len(out.Stopped) == 0 {
				return tool.Text("The team " + out.Team + " is no more.")
			}
			return tool.Text("The team " + out.Team + " was ended. Stopped: " + strings.Join(out.Stopped, ", ") + ".")
		},
		Summarize: func(in endTeamInput) string { return in.Name },
		Deferred:  true,
	})
}
