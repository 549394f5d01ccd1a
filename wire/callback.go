package wire

import "encoding/json"

// The requests of the CLI to a host.

// CanUseTool asks the host whether a call may run. The answer is a
// [PermissionAnswer]; an error means no.
type CanUseTool struct {
	Base
	ToolName    string          `json:"tool_name"`
	DisplayName string          `json:"display_name,omitempty"`
	Input       json.RawMessage `json:"input"`
	ToolUseID   string          `json:"tool_use_id"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	// PermissionSuggestions are changes that would allow calls like this one.
	PermissionSuggestions []PermissionUpdate `json:"permission_suggestions,omitempty"`
	BlockedPath           string             `json:"blocked_path,omitempty"`
	DecisionReason        string             `json:"decision_reason,omitempty"`
	DecisionReasonType    string             `json:"decision_reason_type,omitempty"`
	MCPServer             *MCPServerRef      `json:"mcp_server,omitempty"`
	// AgentID is that of the sub-agent that calls.
	AgentID string `json:"agent_id,omitempty"`
	// RequiresUserInteraction marks questions that only a user can answer.
	RequiresUserInteraction bool            `json:"requires_user_interaction,omitempty"`
	SuppressAlwaysAllowRule bool            `json:"suppress_always_allow_rule,omitempty"`
	DefaultToNo             bool            `json:"default_to_no,omitempty"`
	MatchedAskRule          json.RawMessage `json:"matched_ask_rule,omitempty"`
	// Change is what the call would change in files, computed by the code that makes the
	// change; absent if that is not known before the call runs. An allow is for this
	// change: if it is different by the time the call runs, the host is asked again. Other
	// CLIs do not send it.
	Change *Change `json:"change,omitempty"`
	// ChangeUnknown is why there is no Change although haft tried to determine it, for example
	// because a previewed command wanted the network. An allow is then for the command.
	ChangeUnknown string `json:"change_unknown,omitempty"`
	// QuestionID is the id that the session's journal has for the question, for those who watch
	// the session or show it to others. Other CLIs do not send it.
	QuestionID string `json:"question_id,omitempty"`
}

// A Change is all that a call would change in files.
type Change struct {
	// Digest names the change: files, contents and modes, before and after.
	Digest string `json:"digest"`
	// Files is empty if the call would change no file.
	Files []FileChange `json:"files"`
	// Notes are lines about what is not shown file by file, and what is dropped.
	Notes []string `json:"notes,omitempty"`
	// Ran says that the command has run, but nothing has been applied yet. Allowing it
	// makes this change; it is not run again.
	Ran bool `json:"ran,omitempty"`
}

// A FileChange is the change of one file. A new file has no Before, a deleted one no After.
type FileChange struct {
	Path string `json:"path"`
	// From is the name that a renamed file had.
	From   string       `json:"from,omitempty"`
	Before *FileVersion `json:"before,omitempty"`
	After  *FileVersion `json:"after,omitempty"`
	// Hunks are the change of the text, decoded from the file's encoding. There are none
	// for a binary or very large file.
	Hunks []Hunk `json:"hunks,omitempty"`
	// Folded is a word for a file that is not meant to be read, such as "lock file",
	// "generated" or "git". It has no hunks.
	Folded string `json:"folded,omitempty"`
	// Protected is why it matters who changes the file. Such files come first.
	Protected string `json:"protected,omitempty"`
}

// A FileVersion is a file before or after a change.
type FileVersion struct {
	// SHA256 and Size are of the bytes on the disk.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Mode is octal, such as 0644; absent for a new file that gets the usual one.
	Mode   string `json:"mode,omitempty"`
	Link   bool   `json:"link,omitempty"`
	Binary bool   `json:"binary,omitempty"`
}

// A Hunk is a part of a text that changes. Lines begin with a space, - or + and have no
// final newline; a line that begins with a backslash says that the line before it has none.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// Subtype is can_use_tool.
func (*CanUseTool) Subtype() string { return "can_use_tool" }

// MCPServerRef names the MCP server that a tool comes from.
type MCPServerRef struct {
	Name   string `json:"name"`
	Source string `json:"source,omitempty"`
}

// The behaviours of a [PermissionAnswer].
const (
	BehaviorAllow = "allow"
	BehaviorDeny  = "deny"
)

// PermissionAnswer decides about a call.
type PermissionAnswer struct {
	Behavior string `json:"behavior" wire:"enum=allow|deny"`
	// UpdatedInput replaces the call's input. Nil keeps it.
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	// UpdatedPermissions are applied with an allow.
	UpdatedPermissions []PermissionUpdate `json:"updatedPermissions,omitempty"`
	// Message tells the model why the call was denied.
	Message string `json:"message,omitempty"`
	// Interrupt ends the turn with a deny.
	Interrupt bool   `json:"interrupt,omitempty"`
	ToolUseID string `json:"toolUseID,omitempty"`
	// By names the device or user that answered, for the journal and other viewers; ""
	// means the program or viewer that sends the answer.
	By string `json:"by,omitempty"`
}

// PermissionUpdate changes what is allowed.
type PermissionUpdate struct {
	Type        string           `json:"type" wire:"enum=addRules|replaceRules|removeRules|setMode|addDirectories|removeDirectories"`
	Rules       []PermissionRule `json:"rules,omitempty"`
	Behavior    string           `json:"behavior,omitempty" wire:"enum=allow|deny|ask"`
	Mode        string           `json:"mode,omitempty"`
	Directories []string         `json:"directories,omitempty"`
	// Destination is where the change is kept.
	Destination string `json:"destination" wire:"enum=userSettings|projectSettings|localSettings|session|cliArg"`
}

// PermissionRule is a rule such as Bash(git *).
type PermissionRule struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// HookCallback runs a hook of the host. The answer is a [HookOutput].
type HookCallback struct {
	Base
	CallbackID string          `json:"callback_id"`
	Input      json.RawMessage `json:"input"` // a HookInput
	ToolUseID  NullString      `json:"tool_use_id,omitempty"`
}

// Subtype is hook_callback.
func (*HookCallback) Subtype() string { return "hook_callback" }

// MCPMessage is a message of the MCP protocol, to a server in the host or, for
// notifications, from one. The answer is an [MCPMessageReply].
type MCPMessage struct {
	Base
	ServerName string          `json:"server_name"`
	Message    json.RawMessage `json:"message"` // a JSON-RPC message
}

// Subtype is mcp_message.
func (*MCPMessage) Subtype() string { return "mcp_message" }

// MCPMessageReply is the server's answer; to a notification, something to ignore.
type MCPMessageReply struct {
	MCPResponse json.RawMessage `json:"mcp_response,omitempty"`
}

// Elicitation asks the user for data that an MCP server needs.
type Elicitation struct {
	Base
	MCPServerName   string          `json:"mcp_server_name"`
	Message         string          `json:"message"`
	Mode            string          `json:"mode,omitempty"`
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitation_id,omitempty"`
	RequestedSchema json.RawMessage `json:"requested_schema,omitempty"`
}

// Subtype is elicitation.
func (*Elicitation) Subtype() string { return "elicitation" }

// ElicitationReply is what the user did.
type ElicitationReply struct {
	Action  string          `json:"action" wire:"enum=accept|decline|cancel"`
	Content json.RawMessage `json:"content,omitempty"`
	// By is as in [PermissionAnswer].
	By string `json:"by,omitempty"`
}

// RequestUserDialog asks the host to show a dialog of a kind that it supports.
type RequestUserDialog struct {
	Base
	DialogKind string          `json:"dialog_kind"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	ToolUseID  string          `json:"tool_use_id,omitempty"`
}

// Subtype is request_user_dialog.
func (*RequestUserDialog) Subtype() string { return "request_user_dialog" }

// RequestUserDialogReply is how the dialog ended.
type RequestUserDialogReply struct {
	Behavior string          `json:"behavior" wire:"enum=completed|cancelled"`
	Result   json.RawMessage `json:"result,omitempty"`
}
