package agent

import (
	"encoding/json"
	"time"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// An Event is one thing that happened in a conversation. Front ends switch on its type and
// ignore types that they do not know.
type Event interface{ event() }

// TurnStarted begins a turn. Everything up to its [Result] belongs to it.
type TurnStarted struct {
	Prompts []Prompt // what the turn answers
	Model   string
	Mode    string
	Tools   *tool.Set
}

// Requesting reports that the conversation is being sent to the model.
type Requesting struct {
	Model  string
	Tokens int64 // estimated
}

// Streamed is a piece of the model's answer, as it arrives.
type Streamed struct {
	Event model.Event
	// TTFT is the time until the first piece; it is set on a model.Start.
	TTFT time.Duration
}

// Said is a complete block of an answer. It comes just before the block's own end is
// Streamed. A block that calls a tool is in the journal by then, with everything said
// before it; other blocks are when the next call comes, or when the answer ends.
type Said struct {
	UUID      string
	MessageID string
	Model     string
	Block     model.Block
	Usage     model.Usage // so far
	Agent     string
	// Error is set if the text is not the model's but explains why there is no answer.
	Error *model.Error
	// Aborted is set on a block that an interrupt cut.
	Aborted bool
}

// Retracted takes back what was Said by a message that was cut off: the message is requested
// again, or continues without those blocks. None of them is in the journal.
type Retracted struct {
	MessageID string
	UUIDs     []string
}

// Called is a new state of a call, or its progress: see [sched.Event]. A completed call is
// reported by [Returned].
type Called struct{ sched.Event }

// Returned is the result of a call, already recorded. These events come in the order in which
// calls end.
type Returned struct {
	UUID    string
	Outcome *sched.Outcome
}

// Added is a message that the harness added to the conversation: a reminder, a note about
// an interruption, what the user said meanwhile, a summary.
type Added struct {
	UUID    string
	Kind    AddedKind
	Message model.Message
	Agent   string
	Prompt  *Prompt // of a message the user sent
}

// An AddedKind is the reason why a message was added.
type AddedKind string

const (
	Prompted    AddedKind = "prompt"      // the user said it
	Instructed  AddedKind = "instruction" // a tool's result brought it, such as a skill's text
	Interrupted AddedKind = "interrupted" // the user stopped the turn
	Reminded    AddedKind = "reminder"    // a message from the harness
	Summarized  AddedKind = "summary"     // the summary of what was compacted
	Notified    AddedKind = "task"        // something in the background ended
)

// Waiting reports that a call waits for an answer; it ends with the call's next event, such as
// Answered.
type Waiting struct {
	CallID, UseID, Tool, Agent string
}

// Answered reports that a call no longer waits, whatever the answer was.
type Answered struct {
	CallID string
}

// Denied is a call that was denied without asking a user. It comes just before the call's
// Returned event.
type Denied struct {
	Outcome *sched.Outcome
}

// Retrying and FellBack report the state of the model's server.
type (
	Retrying struct{ model.Retry }
	FellBack struct{ model.Fallback }
)

// Compacting begins a compaction, Compacted ends it.
type (
	Compacting struct{ Trigger string }
	Compacted  struct {
		UUID              string
		Trigger           string
		PreTokens, Tokens int64 // before and after, estimated
		Duration          time.Duration
		Err               error // why nothing was compacted; nil if it was
	}
)

// Changed is a new value of something that front ends show: the mode, the model, the
// to-dos, the tasks, the set of tools.
type Changed struct {
	What  Fact
	Value any
}

// Fact names what has [Changed].
type Fact string

const (
	Mode      Fact = "mode"      // string
	ModelName Fact = "model"     // string
	Todos     Fact = "todos"     // as the todo tool has them
	Tasks     Fact = "tasks"     // as the task tools have them
	Tools     Fact = "tools"     // *tool.Set
	Title     Fact = "title"     // string
	Cleared   Fact = "cleared"   // string: the session's id from now on
	Directory Fact = "directory" // string
)

// A Task is background work: a command, a sub-agent, a long call of an MCP server.
// [Agent.Run] does not end while one runs in the background: the model is told when it
// ends; see [Agent.Notify].
type Task struct {
	ID, UseID   string
	Type        string // local_bash, local_agent or mcp_call
	Description string
	Status      string // running, completed, failed, stopped
	Background  bool
	AgentType   string
	Prompt      string
	Summary     string
	OutputFile  string
	Tokens      int64
	ToolUses    int
	LastTool    string
	Started     time.Time
	Ended       time.Time
}

// TaskChanged reports that a task began, made progress or ended.
type TaskChanged struct {
	Task   Task
	Change string // started, progress, updated, ended
}

// Notice is a line for the user that is not part of the conversation.
type Notice struct {
	Level string // info, notice, warning
	Text  string
	Tag   string
}

// Push is the tag of a notice for a user who may be looking elsewhere: front ends draw
// attention to it.
const Push = "push"

// Result ends a turn, on every path. It is the last event of the turn.
type Result struct {
	UUID string
	// Reason is why the turn ended.
	Reason Reason
	// Text is the model's last text, or why there is none.
	Text string
	// Structured is the structured output that was asked for.
	Structured []byte
	// Errors say what went wrong.
	Errors []string
	// Err is the model's error that ended the turn.
	Err *model.Error

	Requests   int // requests to the model; repeated ones count once
	Calls      int // results of tools
	StopReason model.StopReason
	Duration   time.Duration
	APITime    time.Duration
	TTFT       *time.Duration        // until the first answer began; nil if there was none
	Usage      model.Usage           // of the turn
	Total      map[string]ModelUsage // of the session so far, by model
	Denials    []*sched.Outcome
	Prompts    []Prompt        // the prompts that it answered, including those that joined while it ran
	Queued     int             // prompts that wait
	Sender     json.RawMessage // of the turn's prompt, as it was given
	Origin     string          // task-notification if the user did not ask for the turn
	Command    string          // compact or clear if it was that, without an answer
}

// ModelUsage is what a model was used for.
type ModelUsage struct {
	model.Usage
	Cost float64 // in dollars
	// Unpriced is set if the cost is not known.
	Unpriced bool
}

// Reason is why a turn ended.
type Reason string

const (
	Completed Reason = "completed"
	// Superseded turns were cut at a boundary because a prompt with the priority Now was
	// queued. That is not an error, and there is no answer.
	Superseded        Reason = "superseded"
	APIError          Reason = "api_error"
	PromptTooLong     Reason = "prompt_too_long"
	MaxTurns          Reason = "max_turns"
	BudgetExhausted   Reason = "budget_exhausted"
	TimeExhausted     Reason = "time_exhausted"
	AbortedStreaming  Reason = "aborted_streaming"
	AbortedTools      Reason = "aborted_tools"
	StoppedByHook     Reason = "hook_stopped"
	StoppedLoop       Reason = "loop_stopped" // the same call over and over
	ToolFailure       Reason = "tool_failure" // a tool's fault that is not for the model
	StructuredRetries Reason = "structured_output_retries"
	OutputExhausted   Reason = "max_output_tokens" // the answer was cut again and again
	Refused           Reason = "refusal"           // by the model
	CommandFailed     Reason = "command_failed"    // a command of haft's own, which no model answers
	JournalFailure    Reason = "journal_failure"   // nothing may happen that is not recorded
	// TakenOver turns were cut because another process has continued the session: this
	// process may no longer act for it.
	TakenOver Reason = "session_taken_over"
	Crashed   Reason = "crashed" // a fault in haft
)

// IsError reports whether the turn did not do what was asked.
func (r Reason) IsError() bool { return r != Completed && r != Superseded }

func (TurnStarted) event() {}
func (Requesting) event()  {}
func (Streamed) event()    {}
func (Said) event()        {}
func (Retracted) event()   {}
func (Called) event()      {}
func (Returned) event()    {}
func (Added) event()       {}
func (Waiting) event()     {}
func (Answered) event()    {}
func (Denied) event()      {}
func (Retrying) event()    {}
func (FellBack) event()    {}
func (Compacting) event()  {}
func (Compacted) event()   {}
func (Changed) event()     {}
func (TaskChanged) event() {}
func (Notice) event()      {}
func (Result) event()      {}
