package wire

// The messages of the live channel, through which others watch a running session. Other
// CLIs do not have them.

// Observe subscribes to a session, starting at a position of its journal. It is the first
// message of an observer.
type Observe struct {
	Base
	// From is where to start, as reported by a [JournalPosition]; "" is the beginning,
	// "end" leaves out everything so far.
	From string `json:"from,omitempty"`
	// Name describes the observer, such as "the web page"; it is shown with its answers.
	Name string `json:"name,omitempty"`
	// Answers says that the observer can be asked: it gets can_use_tool requests, and the
	// first answer counts.
	Answers bool `json:"answers,omitempty"`
}

// Subtype is observe.
func (*Observe) Subtype() string { return "observe" }

// ObserveReply says what the session is like now.
type ObserveReply struct {
	SessionID      string `json:"session_id"`
	Cwd            string `json:"cwd"`
	Model          string `json:"model"`
	PermissionMode string `json:"permission_mode"`
	PID            int    `json:"pid"`
	Busy           bool   `json:"busy"`
}

// JournalPosition says that everything in the journal up to this position was sent.
type JournalPosition struct {
	Stamp
	Position string `json:"position"`
}

// Tag is system/journal_position.
func (*JournalPosition) Tag() Tag { return system("journal_position") }

// CallStep reports the state of a call that has no result yet.
type CallStep struct {
	Stamp
	Step      string `json:"step" wire:"enum=judged|dispatched"`
	ToolUseID string `json:"tool_use_id"`
	ToolName  string `json:"tool_name"`
	AgentID   string `json:"agent_id,omitempty"`
	// Behavior and Reason are the verdict, and Confinement is what the command is limited to.
	Behavior    string `json:"behavior,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Confinement string `json:"confinement,omitempty"`
	// Unasked is set for a denial if no one could be asked, and Remedy then names the rules that would allow the call.
	Unasked   bool   `json:"unasked,omitempty"`
	Remedy    string `json:"remedy,omitempty"`
	Timestamp string `json:"timestamp,omitempty"`
}

// Tag is system/call_step.
func (*CallStep) Tag() Tag { return system("call_step") }

// QuestionAsked says that a user or program was asked about a call.
type QuestionAsked struct {
	Stamp
	QuestionID string   `json:"question_id"`
	ToolUseID  string   `json:"tool_use_id"`
	ToolName   string   `json:"tool_name"`
	AgentID    string   `json:"agent_id,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Rules      []string `json:"rules,omitempty"`
	Timestamp  string   `json:"timestamp,omitempty"`
}

// Tag is system/question_asked.
func (*QuestionAsked) Tag() Tag { return system("question_asked") }

// QuestionAnswered says that a question was answered, from where and how; both are empty if
// the question was withdrawn.
type QuestionAnswered struct {
	Stamp
	QuestionID string `json:"question_id"`
	By         string `json:"by,omitempty"`
	Behavior   string `json:"behavior,omitempty"`
	AgentID    string `json:"agent_id,omitempty"`
	Timestamp  string `json:"timestamp,omitempty"`
}

// Tag is system/question_answered.
func (*QuestionAnswered) Tag() Tag { return system("question_answered") }
