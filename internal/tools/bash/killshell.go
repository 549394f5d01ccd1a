package bash

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
