package bash

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/tool"
)

// killInput is what the model sends to KillShell.
type killInput struct {
	ShellID string `json:"shell_id" jsonschema:"The id of the background command or agent." haft:"min=1;alias=task_id|bash_id;example=b1a2b3c4d5"`
}

// killOutput is what programs get from KillShell.
type killOutput struct {
	Message  string `json:"message"`
	TaskID   string `json:"task_id"`
	TaskType string `json:"task_type"`
	Command  string `json:"command,omitempty"`
}

// What a task is, as Claude Code spells it.
const (
	taskType  = "local_bash"
	agentType = "local_agent"
)

func (t *Tools) killShell() tool.Tool {
	return tool.New(tool.Def[killInput, killOutput]{
		Name:        "KillShell",
		Aliases:     []string{"KillBash", "TaskStop"},
		SearchHint:  "stop end kill background shell command task",
		Description: killText,
		Enabled:     hasBackground,
		Marks:       func(killInput) tool.Marks { return tool.Marks{Effect: tool.Idempotent} },
		Validate: func(_ context.Context, _ *tool.Call, in killInput) *tool.Problem {
			if _, _, ok := t.agent(in.ShellID); ok {
				return nil
			}
			return t.unknown(in.ShellID)
		},
		Permission: func(context.Context, *tool.Call, killInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "it belongs to this session"}
		},
		Run:         t.kill,
		Render:      func(out killOutput) tool.Result { return tool.Text(out.Message) },
		Summarize:   func(in killInput) string { return in.ShellID },
		OnInterrupt: tool.InterruptBlock,
	})
}

func (t *Tools) kill(_ context.Context, _ *tool.Call, in killInput) (killOutput, error) {
	if work, _, ok := t.agent(in.ShellID); ok {
		return t.killAgent(in.ShellID, work), nil
	}
	task, ok := t.host.Task(in.ShellID)
	if !ok {
		return killOutput{}, tool.Errorf("%s", t.unknown(in.ShellID).Message)
	}
	out := killOutput{TaskID: task.ID(), TaskType: taskType, Command: task.Command()}
	if task.Ended() {
		out.Message = fmt.Sprintf("%s had already ended: %s, exit code %d.", task.ID(), status(task), task.Result().Status.Code)
		return out, nil
	}
	r := task.Stop()
	out.Message = fmt.Sprintf("%s (%s) was stopped with everything it started.", task.ID(), brief(task.Command()))
	if len(r.Status.Left) > 0 {
		out.Message += fmt.Sprintf(" These processes could not be stopped: %v.", r.Status.Left)
	}
	return out, nil
}

// killAgent ends the work of an agent. What it has said so far comes with the
// notification of its end.
func (t *Tools) killAgent(id, work string) killOutput {
	out := killOutput{TaskID: id, TaskType: agentType, Message: fmt.Sprintf("The agent %s (%s) was no longer running.", id, brief(work))}
	if t.opts.Agents.Stop(id) {
		out.Message = fmt.Sprintf("The agent %s (%s) is being stopped. It can be continued with SendMessage.", id, brief(work))
	}
	return out
}

// agent looks for an agent in the background.
func (t *Tools) agent(id string) (work, transcript string, ok bool) {
	if t.opts.Agents == nil {
		return "", "", false
	}
	return t.opts.Agents.About(id)
}
