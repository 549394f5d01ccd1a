package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// An Entry is one thing in a journal. Exactly one of the pointers is set.
type Entry struct {
	// UUID names the entry; "" lets the session choose.
	UUID string
	// Parent is the message that it follows, "" for the first. [Entries] sets it; an
	// appended entry follows the one before.
	Parent string
	// Agent names the sub-agent whose conversation it belongs to; "" is the main one.
	Agent string
	// Time is when it was written; zero means now.
	Time time.Time

	Message    *Message
	Call       *Call
	Compaction *Compaction
	State      *State
	Checkpoint *Checkpoint
	Ask        *Ask
	Answer     *Answer
	Back       *Back
}

// prompts reports whether an entry is a message of the user, and not the result of a call.
func (e *Entry) prompts() bool {
	return e.Message != nil && e.Message.Role == model.User &&
		!slices.ContainsFunc(e.Message.Content, func(b model.Block) bool { return b.Type == model.ToolResult })
}

// endsAnswer reports whether the entry only says how an answer ended whose blocks were written before.
func (e *Entry) endsAnswer() bool {
	return e.Message != nil && e.Message.Role == model.Assistant && len(e.Message.Content) == 0
}

// A Back says that the conversation continues after the entry's parent, although messages
// that followed it come earlier in the journal; see [Session.KeepPlace].
type Back struct {
	// Prompt is the last one of the conversation now, "" if none is known.
	Prompt string `json:"prompt,omitempty"`
}

// A Message is a message of the conversation.
type Message struct {
	Role    model.Role
	Content []model.Block
	// ID, Model, StopReason and Usage are set for an answer. An answer is written block by
	// block as it arrives; entries with the same ID are one message.
	ID         string
	Model      string
	StopReason model.StopReason
	Usage      model.Usage
	// Output is the typed output of the call that a tool_result belongs to: an
	// object, or a string if it failed.
	Output json.RawMessage
	// Confined is what the kernel limited that call to; nil for calls that are not commands
	// or are not confined.
	Confined *Confined
	// Denied is why that call was not allowed; nil if it was.
	Denied *Denied
	// Typed is set on a prompt that is a single string, not a list of blocks; its Content
	// is that text.
	Typed bool
	// Synthetic messages were added by the harness and not by the user: a summary, a
	// reminder, a note about an interruption.
	Synthetic bool
	// Error is set on a message that the user was shown instead of an answer; it is never
	// sent to a model.
	Error string
}

// prompts reports whether a user sent it.
func (m *Message) prompts() bool {
	return m.Role == model.User && !m.Synthetic && len(m.Content) > 0 && m.Content[0].Type != model.ToolResult
}

// encode is the message as a line has it, with what it took if that is known.
func (m *Message) encode(usage *model.Usage) ([]byte, error) {
	o := object("{")
	o.string("id", m.ID)
	if m.Role == model.Assistant {
		o.string("type", "message")
	}
	o.name("role")
	o = plainjson.AppendString(o, string(m.Role))
	o.string("model", m.Model)
	o.name("content")
	if m.Typed && len(m.Content) == 1 && m.Content[0].Type == model.Text {
		o = plainjson.AppendString(o, m.Content[0].Text)
	} else {
		o = append(o, '[')
		for i, b := range m.Content {
			if i > 0 {
				o = append(o, ',')
			}
			var err error
			if o, err = b.AppendJSON(o); err != nil {
				return nil, fmt.Errorf("encode message: %w", err)
			}
		}
		o = append(o, ']')
	}
	if m.Role == model.Assistant {
		o.string("stop_reason", string(m.StopReason))
	}
	if usage != nil {
		raw, err := plainjson.Marshal(usage)
		if err != nil {
			return nil, fmt.Errorf("encode message: %w", err)
		}
		o.raw("usage", raw)
	}
	return append(o, '}'), nil
}

// Confined is what the command of a call was limited to, and by which tier of package
// sandbox, whether it failed or not.
type Confined struct {
	To   tool.Confinement `json:"to"`
	Tier string           `json:"tier"`
}

// Denied is why a call was not allowed, as the user was told. The model reads it in other
// words, in the content of the result.
type Denied struct {
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
}

// A Call is a step of a call before it has a result. The result itself is the
// Message with the tool_result, whose UUID is [ResultUUID].
type Call struct {
	Step     Step          `json:"step"`
	ID       string        `json:"id"`
	UseID    string        `json:"useId"`
	Tool     string        `json:"tool"`
	Effect   tool.Effect   `json:"effect,omitempty"`
	Behavior tool.Behavior `json:"behavior,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	// Unasked is set for a denial if no one could be asked, and Remedy then names the rules
	// that would allow the next such call; see [tool.Verdict].
	Unasked bool   `json:"unasked,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	// Approved is the digest of the change that a user was shown and approved.
	Approved string `json:"approved,omitempty"`
	// Confinement is what a command was limited to.
	Confinement tool.Confinement `json:"confinement,omitempty"`
	// Input is the input that will run, if it differs from what the model wrote.
	Input json.RawMessage `json:"input,omitempty"`
}

func (c *Call) decode(raw []byte) error {
	return plainjson.Members(raw, func(name string, value []byte) error {
		switch name {
		case "step":
			return readText((*string)(&c.Step), value)
		case "id":
			return readText(&c.ID, value)
		case "useId":
			return readText(&c.UseID, value)
		case "tool":
			return readText(&c.Tool, value)
		case "reason":
			return readText(&c.Reason, value)
		case "effect":
			n, err := strconv.Atoi(string(value))
			c.Effect = tool.Effect(n)
			return err
		case "behavior":
			n, err := strconv.Atoi(string(value))
			c.Behavior = tool.Behavior(n)
			return err
		}
		return errOther
	})
}

func (c *Call) appendTo(o object) (object, error) {
	o = append(o, '{')
	o.name("step")
	o = plainjson.AppendString(o, string(c.Step))
	o.name("id")
	o = plainjson.AppendString(o, c.ID)
	o.name("useId")
	o = plainjson.AppendString(o, c.UseID)
	o.name("tool")
	o = plainjson.AppendString(o, c.Tool)
	o.number("effect", int(c.Effect))
	o.number("behavior", int(c.Behavior))
	o.string("reason", c.Reason)
	o.truth("unasked", c.Unasked)
	o.string("remedy", c.Remedy)
	o.string("approved", c.Approved)
	o.string("confinement", string(c.Confinement))
	var err error
	if len(c.Input) > 0 {
		o.name("input")
		o, err = plainjson.AppendCompact(o, c.Input)
	}
	return append(o, '}'), err
}

// check refuses what cannot be written. If it waited to be, everything after it would fail too.
func (c *Call) check() error {
	if c.Input != nil && !plainjson.Valid(c.Input) {
		return fmt.Errorf("record the call %s: its input is not JSON", c.UseID)
	}
	return nil
}

// A Step is the stage that a call had reached.
type Step string

const (
	Judged     Step = "judged"
	Dispatched Step = "dispatched"
)

// A Compaction replaces everything before it: the conversation continues with Messages, and
// a snapshot carries over the states before it.
type Compaction struct {
	Trigger   string          `json:"trigger"` // auto or manual
	PreTokens int64           `json:"preTokens"`
	Messages  []model.Message `json:"messages"`
}

// A State is a fact about the session that later entries replace: the model, the permission
// mode, the to-dos, the revealed tools, what was read, the title. The value null removes
// it.
type State struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

func (s *State) decode(raw []byte) error {
	return plainjson.Members(raw, func(name string, value []byte) error {
		switch name {
		case "name":
			return readText(&s.Name, value)
		case "value":
			s.Value = bytes.Clone(value)
			return nil
		}
		return errOther
	})
}

// An Ask records that a user or a program is being asked about a call. It is open until the
// [Answer] with its ID, or until the call has a result.
type Ask struct {
	ID     string `json:"id"`
	CallID string `json:"callId"`
	UseID  string `json:"useId"`
	Tool   string `json:"tool"`
	// Reason is why the rules leave it open.
	Reason string `json:"reason,omitempty"`
	// Input is the digest of the input that is asked about. Change is the digest of the
	// file changes shown with it; "" if none are.
	Input  string `json:"input"`
	Change string `json:"change,omitempty"`
	// Rules would allow such calls.
	Rules []string `json:"rules,omitempty"`
}

// An Answer is the answer to an [Ask].
type Answer struct {
	ID string `json:"id"`
	// By is where the answer came from; "" if the question was withdrawn, because a hook
	// decided or the turn ended.
	By string `json:"by,omitempty"`
	// Behavior is allow or deny; NoView if the question was withdrawn.
	Behavior tool.Behavior `json:"behavior,omitempty"`
}

// A Checkpoint records a file before a call changed it. The path and the targets of links
// need not be valid UTF-8.
type Checkpoint struct {
	CallID string `json:"callId"`
	Path   string `json:"path"`
	// Before is the digest of the content in the blob store; "" means that there was no
	// file.
	Before string `json:"before"`
	Mode   uint32 `json:"mode,omitempty"`
	// Link is where a symbolic link pointed.
	Link string `json:"link,omitempty"`
	// After, AfterMode and AfterLink describe the file after the call.
	After     string `json:"after,omitempty"`
	AfterMode uint32 `json:"afterMode,omitempty"`
	AfterLink string `json:"afterLink,omitempty"`
}

// named returns the checkpoint with its names encoded or decoded: JSON holds only text.
func (c *Checkpoint) named(code func(string) string) *Checkpoint {
	if c == nil {
		return nil
	}
	named := *c
	named.Path, named.Link, named.AfterLink = code(c.Path), code(c.Link), code(c.AfterLink)
	return &named
}
