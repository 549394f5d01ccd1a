package wire

import "encoding/json"

// Requests of hosts that ask for facts or change small things.

// GetSettings asks for the settings in effect.
type GetSettings struct{ Base }

// Subtype is get_settings.
func (*GetSettings) Subtype() string { return "get_settings" }

// GetSettingsReply is the settings in effect, and those of each source.
type GetSettingsReply struct {
	// Effective are the values of all sources together.
	Effective map[string]json.RawMessage `json:"effective"`
	Sources   List[SourceSettings]       `json:"sources"`
	Applied   AppliedSettings            `json:"applied"`
}

// SourceSettings is the settings of one source. If a source has several files, the first takes
// precedence.
type SourceSettings struct {
	// Source is userSettings, projectSettings, localSettings, flagSettings or
	// policySettings.
	Source   string          `json:"source"`
	Settings json.RawMessage `json:"settings"`
}

// AppliedSettings are what the next request is made with.
type AppliedSettings struct {
	Model  string     `json:"model"`
	Effort NullString `json:"effort"`
}

// RenameSession gives the session a title. The answer has no content.
type RenameSession struct {
	Base
	Title string `json:"title"`
	// Source is host if a user chose the title there.
	Source string `json:"source,omitempty"`
	// SessionID is the session that is meant; "" means the current one.
	SessionID string `json:"session_id,omitempty"`
}

// Subtype is rename_session.
func (*RenameSession) Subtype() string { return "rename_session" }

// GenerateSessionTitle asks for a session title that fits a description.
type GenerateSessionTitle struct {
	Base
	Description string `json:"description,omitempty"`
	Persist     bool   `json:"persist,omitempty"`
}

// Subtype is generate_session_title.
func (*GenerateSessionTitle) Subtype() string { return "generate_session_title" }

// TitleReply is a title.
type TitleReply struct {
	Title NullString `json:"title"`
}

// GetSessionCost asks for the cost of the session as text for users.
type GetSessionCost struct{ Base }

// Subtype is get_session_cost.
func (*GetSessionCost) Subtype() string { return "get_session_cost" }

// TextReply is text for people to read.
type TextReply struct {
	Text string `json:"text"`
}

// GetBinaryVersion asks for the version of the CLI.
type GetBinaryVersion struct{ Base }

// Subtype is get_binary_version.
func (*GetBinaryVersion) Subtype() string { return "get_binary_version" }

// BinaryVersionReply is a version.
type BinaryVersionReply struct {
	Version   string `json:"version"`
	BuildTime string `json:"buildTime"`
}

// ListModels asks for the models that can be chosen.
type ListModels struct{ Base }

// Subtype is list_models.
func (*ListModels) Subtype() string { return "list_models" }

// ListModelsReply is the models that can be chosen.
type ListModelsReply struct {
	Models List[ModelInfo] `json:"models"`
}

// DescribeInput asks for what a prompt can name, what answers it, and which prompts wait: what a
// front end shows around its input box.
type DescribeInput struct{ Base }

// Subtype is describe_input.
func (*DescribeInput) Subtype() string { return "describe_input" }

// DescribeInputReply is what is around an input box.
type DescribeInputReply struct {
	Commands List[Command]   `json:"commands"`
	Models   List[ModelInfo] `json:"models"`
	Model    string          `json:"model"`
	// Effort is that of the next request; "" leaves it to the provider.
	Effort string `json:"effort"`
	// Queued are the prompts that no turn has taken up, in order.
	Queued List[QueuedPrompt] `json:"queued"`
}

// QueuedPrompt is a prompt that waits, as it was typed. [CancelAsyncMessage] takes it back.
type QueuedPrompt struct {
	UUID string `json:"uuid"`
	Text string `json:"text"`
}

// FileSuggestions asks for paths that complete a query.
type FileSuggestions struct {
	Base
	Query string `json:"query"`
}

// Subtype is file_suggestions.
func (*FileSuggestions) Subtype() string { return "file_suggestions" }

// FileSuggestionsReply is paths that complete the query.
type FileSuggestionsReply struct {
	Suggestions List[FileSuggestion] `json:"suggestions"`
	Cwd         string               `json:"cwd"`
}

// FileSuggestion is a file, or a folder if its path ends with a slash.
type FileSuggestion struct {
	Path string `json:"path"` // relative to the working directory
}

// CancelAsyncMessage drops a queued prompt.
type CancelAsyncMessage struct {
	Base
	MessageUUID string `json:"message_uuid"`
}

// Subtype is cancel_async_message.
func (*CancelAsyncMessage) Subtype() string { return "cancel_async_message" }

// CancelAsyncMessageReply says whether there was such a prompt.
type CancelAsyncMessageReply struct {
	Cancelled bool `json:"cancelled"`
	// Running says that the turn of the prompt runs: an interrupt with its name stops it.
	Running bool `json:"running,omitempty"`
}

// GetTaskOutput asks for the output of a task.
type GetTaskOutput struct {
	Base
	TaskID string `json:"task_id"`
}

// Subtype is get_task_output.
func (*GetTaskOutput) Subtype() string { return "get_task_output" }

// TaskOutputReply is the end of what a command has written.
type TaskOutputReply struct {
	Output     string `json:"output"`
	TotalBytes int64  `json:"total_bytes"`
	Truncated  bool   `json:"truncated"`
}

// ExplainCall asks what haft would decide about a call. Nothing runs, and no one is asked.
type ExplainCall struct {
	Base
	ToolName string          `json:"tool_name"`
	Input    json.RawMessage `json:"input"`
}

// Subtype is explain_call.
func (*ExplainCall) Subtype() string { return "explain_call" }

// ExplainCallReply is a verdict and its basis.
type ExplainCallReply struct {
	Behavior string `json:"behavior" wire:"enum=allow|ask|deny|no view"`
	Reason   string `json:"reason,omitempty"`
	// ReadOnly says that the call was shown to change nothing.
	ReadOnly bool `json:"readonly,omitempty"`
	// Rule is the rule that decided, and Origin its file and line.
	Rule   string `json:"rule,omitempty"`
	Origin string `json:"origin,omitempty"`
	// Suggestions are rules that together would allow the call.
	Suggestions []string `json:"suggestions,omitempty"`
	// Notes are what else matters, such as why the tool would reject the input.
	Notes []string `json:"notes,omitempty"`
}

// SetHasSubscribers says whether the host has viewers for the messages.
type SetHasSubscribers struct {
	Base
	HasSubscribers *bool `json:"has_subscribers"`
}

// Subtype is set_has_subscribers.
func (*SetHasSubscribers) Subtype() string { return "set_has_subscribers" }

// RegisterRepoRoot adds a folder, inside the session's folders, to work in.
type RegisterRepoRoot struct {
	Base
	Directory      string `json:"directory"`
	ReloadClaudeMD bool   `json:"reload_claude_md,omitempty"`
	ReloadPlugins  bool   `json:"reload_plugins,omitempty"`
	ReloadSkills   bool   `json:"reload_skills,omitempty"`
}

// Subtype is register_repo_root.
func (*RegisterRepoRoot) Subtype() string { return "register_repo_root" }

// RegisterRepoRootReply is the folder that was added.
type RegisterRepoRootReply struct {
	Directory string `json:"directory"`
}

// SetColor chooses the colour that a front end shows the session in.
type SetColor struct {
	Base
	Color string `json:"color"`
}

// Subtype is set_color.
func (*SetColor) Subtype() string { return "set_color" }
