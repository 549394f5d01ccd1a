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

// SendInput is what the model sends to SendMessage.
type SendInput struct {
	To      string `json:"to" jsonschema:"The agent's id or its name; main is the main conversation." haft:"min=1;max=200;example=a1b2c3"`
	Message string `json:"message" jsonschema:"What to say." haft:"min=1"`
	Summary string `json:"summary,omitempty" jsonschema:"The message in a few words, for the user." haft:"max=200"`

	NotifyWhenIdle bool `json:"notify_when_idle,omitempty" haft:"ignored"` // the caller is always told
}

// SendOutput is what programs get from SendMessage.
type SendOutput struct {
	Success bool   `json:"success"`
	To      string `json:"to"`
	Woken   bool   `json:"resumed"`
}

func newSend(crew Crew) tool.Tool {
	return tool.New(tool.Def[SendInput, SendOutput]{
		Name:        "SendMessage",
		SearchHint:  "message agent continue resume teammate talk",
		Description: messageDescription,
		Marks:       func(SendInput) tool.Marks { return tool.Marks{ReadOnly: true} },
		Permission:  harmless[SendInput],
		Run: func(ctx context.Context, c *tool.Call, in SendInput) (SendOutput, error) {
			sent, err := crew.Send(ctx, Message{From: c.Agent, To: in.To, Text: in.Message})
			return SendOutput{Success: err == nil, To: sent.To, Woken: sent.Woken}, err
		},
		Render: func(out SendOutput) tool.Result {
			if out.Woken {
				return tool.Text(out.To + " had finished and is working again. You will be told when it is done.")
			}
			return tool.Text(out.To + " will receive it before its next step.")
		},
		Summarize: func(in SendInput) string { return in.To + " " + in.Summary },
	})
}

func harmless[In any](context.Context, *tool.Call, In) tool.Verdict {
	return tool.Verdict{Behavior: tool.Allow, Reason: "each of the agent's calls is judged separately"}
}

// TeamInput is what the model sends to TeamCreate.
type TeamInput struct {
	Name        string `json:"team_name" jsonschema:"The team's name." haft:"min=1;max=64;example=porting"`
	Description string `json:"description,omitempty" jsonschema:"What it is for." haft:"max=1000"`
}

// TeamOutput is what programs get from TeamCreate.
type TeamOutput struct {
	Team  string `json:"team_name"`
	Tasks string `json:"task_list,omitempty"` // where its tasks are kept
}

func newTeam(crew Crew) tool.Tool {
	return tool.New(tool.Def[TeamInput, TeamOutput]{
		Name:       "TeamCreate",
		SearchHint: "team teammates together swarm shared tasks",
		Description: "Creates a team: agents started with its team_name and a name work in parallel, share one task list " +
			"(TaskCreate, TaskList, TaskUpdate), and talk with SendMessage. You lead the team and are told when each member finishes.",
		Marks:      func(TeamInput) tool.Marks { return tool.Marks{ReadOnly: true} },
		Permission: harmless[TeamInput],
		Run: func(ctx context.Context, _ *tool.Call, in TeamInput) (TeamOutput, error) {
			tasks, err := crew.NewTeam(ctx, in.Name, in.Description)
			return TeamOutput{Team: in.Name, Tasks: tasks}, err
		},
		Render: func(out TeamOutput) tool.Result {
			return tool.Text(fmt.Sprintf("The team %s is ready. Start its members with Agent, each with team_name %q and a name.", out.Team, out.Team))
		},
		Summarize: func(in TeamInput) string { return in.Name },
		Deferred:  true,
	})
}

// EndTeamInput is what the model sends to TeamDelete.
type EndTeamInput struct {
	Name string `json:"team_name" jsonschema:"The team." haft:"min=1;max=64"`
}

// EndTeamOutput is what programs get from TeamDelete.
type EndTeamOutput struct {
	Team    string   `json:"team_name"`
	Stopped []string `json:"stopped"`
}

func newEndTeam(crew Crew) tool.Tool {
	return tool.New(tool.Def[EndTeamInput, EndTeamOutput]{
		Name:        "TeamDelete",
		SearchHint:  "end team stop teammates",
		Description: "Ends a team. Members that are still working are stopped; their changes stay.",
		Marks:       func(EndTeamInput) tool.Marks { return tool.Marks{} },
		Permission:  harmless[EndTeamInput],
		Run: func(ctx context.Context, _ *tool.Call, in EndTeamInput) (EndTeamOutput, error) {
			stopped, err := crew.EndTeam(ctx, in.Name)
			return EndTeamOutput{Team: in.Name, Stopped: append([]string{}, stopped...)}, err
		},
		Render: func(out EndTeamOutput) tool.Result {
			if len(out.Stopped) == 0 {
				return tool.Text("The team " + out.Team + " is no more.")
			}
			return tool.Text("The team " + out.Team + " was ended. Stopped: " + strings.Join(out.Stopped, ", ") + ".")
		},
		Summarize: func(in EndTeamInput) string { return in.Name },
		Deferred:  true,
	})
}
