package bash

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/tool"
)

// KillInput is what the model sends to KillShell.
type KillInput struct {
	ShellID string `json:"shell_id" jsonschema:"The id of the background command." haft:"min=1;alias=task_id|bash_id;example=b1a2b3c4d5"`
}

// KillOutput is what programs get of KillShell.
type KillOutput struct {
	Message  string `json:"message"`
	TaskID   string `json:"task_id"`
	TaskType string `json:"task_type"`
	Command  string `json:"command"`
}

const taskType = "local_bash"

func (t *Tools) killShell() tool.Tool {
	return tool.New(tool.Def[KillInput, KillOutput]{
		Name:        "KillShell",
		Aliases:     []string{"KillBash", "TaskStop"},
		SearchHint:  "stop end kill background shell command task",
		Description: killText,
		Enabled:     hasBackground,
		Marks:       func(KillInput) tool.Marks { return tool.Marks{Effect: tool.Idempotent} },
		Validate: func(_ context.Context, _ *tool.Call, in KillInput) *tool.Problem {
			return t.unknown(in.ShellID)
		},
		Permission: func(context.Context, *tool.Call, KillInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "the command is this session's own"}
		},
		Run:         t.kill,
		Render:      func(out KillOutput) tool.Result { return tool.Text(out.Message) },
		Summarize:   func(in KillInput) string { return in.ShellID },
		OnInterrupt: tool.InterruptBlock,
	})
}

func (t *Tools) kill(_ context.Context, _ *tool.Call, in KillInput) (KillOutput, error) {
	task, ok := t.host.Task(in.ShellID)
	if !ok {
		return KillOutput{}, tool.Errorf("%s", t.unknown(in.ShellID).Message)
	}
	out := KillOutput{TaskID: task.ID(), TaskType: taskType, Command: task.Command()}
	if task.Ended() {
		out.Message = fmt.Sprintf("%s had ended already: %s, exit code %d.", task.ID(), status(task), task.Result().Status.Code)
		return out, nil
	}
	r := task.Stop()
	out.Message = fmt.Sprintf("%s (%s) was ended with everything it started.", task.ID(), brief(task.Command()))
	if len(r.Status.Left) > 0 {
		out.Message += fmt.Sprintf(" These processes could not be ended: %v.", r.Status.Left)
	}
	return out, nil
}
