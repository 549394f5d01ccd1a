package wire

// TaskStarted says that something runs in the background: a command, a long call or a
// sub-agent.
type TaskStarted struct {
	Stamp
	TaskID         string `json:"task_id" wire:"nonempty"`
	RunID          string `json:"run_id,omitempty"`
	ToolUseID      string `json:"tool_use_id,omitempty"`
	Description    string `json:"description"`
	TaskType       string `json:"task_type,omitempty"` // local_bash, local_agent
	IsBackgrounded bool   `json:"is_backgrounded,omitempty"`
	SubagentType   string `json:"subagent_type,omitempty"`
	SpawnDepth     int    `json:"spawn_depth,omitempty"`
	Prompt         string `json:"prompt,omitempty"`
	ParentTaskID   string `json:"parent_task_id,omitempty"`
}

// Tag is system/task_started.
func (*TaskStarted) Tag() Tag { return system("task_started") }

// TaskProgress counts what a sub-agent has done so far.
type TaskProgress struct {
	Stamp
	TaskID       string     `json:"task_id" wire:"nonempty"`
	ToolUseID    string     `json:"tool_use_id,omitempty"`
	Description  string     `json:"description"`
	SubagentType string     `json:"subagent_type,omitempty"`
	Usage        *TaskUsage `json:"usage,omitempty"`
	LastToolName string     `json:"last_tool_name,omitempty"`
	Summary      string     `json:"summary,omitempty"`
}

// Tag is system/task_progress.
func (*TaskProgress) Tag() Tag { return system("task_progress") }

// TaskUsage is what a task has used.
type TaskUsage struct {
	TotalTokens int   `json:"total_tokens"`
	ToolUses    int   `json:"tool_uses"`
	DurationMS  int64 `json:"duration_ms"`
}

// TaskUpdated changes some fields of a task.
type TaskUpdated struct {
	Stamp
	TaskID string    `json:"task_id" wire:"nonempty"`
	Patch  TaskPatch `json:"patch"`
}

// Tag is system/task_updated.
func (*TaskUpdated) Tag() Tag { return system("task_updated") }

// TaskPatch holds the facts that changed.
type TaskPatch struct {
	Status         string `json:"status,omitempty"`
	Description    string `json:"description,omitempty"`
	EndTime        int64  `json:"end_time,omitempty"` // milliseconds since 1970
	IsBackgrounded *bool  `json:"is_backgrounded,omitempty"`
	Error          string `json:"error,omitempty"`
}

// TaskNotification says how a task ended.
type TaskNotification struct {
	Stamp
	TaskID     string     `json:"task_id" wire:"nonempty"`
	ToolUseID  string     `json:"tool_use_id,omitempty"`
	Status     string     `json:"status" wire:"enum=completed|failed|stopped"`
	OutputFile string     `json:"output_file"`
	Summary    string     `json:"summary"`
	Usage      *TaskUsage `json:"usage,omitempty"`
}

// Tag is system/task_notification.
func (*TaskNotification) Tag() Tag { return system("task_notification") }

// BackgroundTasksChanged lists all background tasks. It is sent on each change.
type BackgroundTasksChanged struct {
	Stamp
	Tasks List[BackgroundTask] `json:"tasks"`
}

// Tag is system/background_tasks_changed.
func (*BackgroundTasksChanged) Tag() Tag { return system("background_tasks_changed") }

// BackgroundTask is a task in the background.
type BackgroundTask struct {
	TaskID       string `json:"task_id"`
	TaskType     string `json:"task_type"`
	Description  string `json:"description"`
	SubagentType string `json:"subagent_type,omitempty"`
}
