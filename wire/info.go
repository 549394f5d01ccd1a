package wire

import "encoding/json"

// Requests of hosts that ask for facts or change small things.

// GetSettings asks for the settings that hold.
type GetSettings struct{ Base }

// Subtype is get_settings.
func (*GetSettings) Subtype() string { return "get_settings" }

// ListPermissionRules asks for all permission rules.
type ListPermissionRules struct{ Base }

// Subtype is list_permission_rules.
func (*ListPermissionRules) Subtype() string { return "list_permission_rules" }

// GetHooksListing asks for all hooks.
type GetHooksListing struct{ Base }

// Subtype is get_hooks_listing.
func (*GetHooksListing) Subtype() string { return "get_hooks_listing" }

// RenameSession gives the session a title.
type RenameSession struct {
	Base
	Title string `json:"title"`
}

// Subtype is rename_session.
func (*RenameSession) Subtype() string { return "rename_session" }

// GenerateSessionTitle asks for a title made of a description.
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

// GetSessionCost asks what the session has cost, for people to read.
type GetSessionCost struct{ Base }

// Subtype is get_session_cost.
func (*GetSessionCost) Subtype() string { return "get_session_cost" }

// TextReply is text for people to read.
type TextReply struct {
	Text string `json:"text"`
}

// GetBinaryVersion asks for the version of the command line.
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

// FileSuggestions asks for paths that complete a query.
type FileSuggestions struct {
	Base
	Query string `json:"query"`
}

// Subtype is file_suggestions.
func (*FileSuggestions) Subtype() string { return "file_suggestions" }

// FileSuggestionsReply is paths that complete the query.
type FileSuggestionsReply struct {
	Suggestions List[json.RawMessage] `json:"suggestions"`
	Cwd         string                `json:"cwd"`
}

// CancelAsyncMessage drops a prompt that waits.
type CancelAsyncMessage struct {
	Base
	MessageUUID string `json:"message_uuid"`
}

// Subtype is cancel_async_message.
func (*CancelAsyncMessage) Subtype() string { return "cancel_async_message" }

// CancelAsyncMessageReply says whether there was such a prompt.
type CancelAsyncMessageReply struct {
	Cancelled bool `json:"cancelled"`
}

// GetTaskOutput asks for what a task has written.
type GetTaskOutput struct {
	Base
	TaskID string `json:"task_id"`
}

// Subtype is get_task_output.
func (*GetTaskOutput) Subtype() string { return "get_task_output" }

// SetColor chooses the colour that a front end shows the session in.
type SetColor struct {
	Base
	Color string `json:"color"`
}

// Subtype is set_color.
func (*SetColor) Subtype() string { return "set_color" }
