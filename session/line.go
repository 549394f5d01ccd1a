package session

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/model"
)

// A line is an [Entry] as it is in the file. Messages have the form in which the official
// tools write them; everything else is in Haft, where they do not look.
type line struct {
	// Parent is null for the first message, and absent from lines that are not part of the
	// conversation.
	Parent        json.RawMessage `json:"parentUuid,omitempty"`
	LogicalParent string          `json:"logicalParentUuid,omitempty"`
	IsSidechain   *bool           `json:"isSidechain,omitempty"`
	UserType      string          `json:"userType,omitempty"`
	Cwd           string          `json:"cwd,omitempty"`
	SessionID     string          `json:"sessionId"`
	Version       string          `json:"version,omitempty"`
	GitBranch     string          `json:"gitBranch,omitempty"`
	AgentID       string          `json:"agentId,omitempty"`
	Type          string          `json:"type"`
	Subtype       string          `json:"subtype,omitempty"`
	Content       string          `json:"content,omitempty"`
	Message       json.RawMessage `json:"message,omitempty"`
	UUID          string          `json:"uuid,omitempty"`
	Timestamp     string          `json:"timestamp,omitempty"`
	ToolUseResult json.RawMessage `json:"toolUseResult,omitempty"`
	IsMeta        bool            `json:"isMeta,omitempty"`
	IsSummary     bool            `json:"isCompactSummary,omitempty"`
	IsAPIError    bool            `json:"isApiErrorMessage,omitempty"`
	Error         string          `json:"error,omitempty"`
	Compact       *compactMeta    `json:"compactMetadata,omitempty"`
	CustomTitle   string          `json:"customTitle,omitempty"`
	Tag           *string         `json:"tag,omitempty"`
	LastPrompt    string          `json:"lastPrompt,omitempty"`
	LeafUUID      string          `json:"leafUuid,omitempty"`
	ForkedFrom    json.RawMessage `json:"forkedFrom,omitempty"`
	Haft          *extra          `json:"haft,omitempty"`

	end  int64           // where the line ends in the file; set by the reader
	raw  json.RawMessage // the whole line of a link, which this type does not describe; set by the reader
	said *Message        // what the line was made of; set by the writer
	read *Message        // what it says, once it was asked for
}

type compactMeta struct {
	Trigger   string `json:"trigger"`
	PreTokens int64  `json:"preTokens"`
}

// extra is what only haft reads.
type extra struct {
	Call       *Call       `json:"call,omitempty"`
	State      *State      `json:"state,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Ask        *Ask        `json:"ask,omitempty"`
	Answer     *Answer     `json:"answer,omitempty"`
	Back       *Back       `json:"back,omitempty"`
	Stop       *stop       `json:"stop,omitempty"`
	Confined   *Confined   `json:"confined,omitempty"`
	Denied     *Denied     `json:"denied,omitempty"`
	// Snapshot belongs to a compaction; SummaryOf names the compaction that a message is
	// part of.
	Snapshot  *snapshot `json:"snapshot,omitempty"`
	SummaryOf string    `json:"summaryOf,omitempty"`
	// Blobs are the digests of strings that are stored elsewhere; see payload.go.
	Blobs []string `json:"blobs,omitempty"`
}

// stop is the usage of an answer so far, or the end of an answer whose blocks were written
// before.
type stop struct {
	ID     string           `json:"id"`
	Model  string           `json:"model,omitempty"`
	Reason model.StopReason `json:"reason,omitempty"`
	Usage  model.Usage      `json:"usage"`
}

// snapshot carries over what is known at a compaction, so that nothing before it has to be
// read.
type snapshot struct {
	Parts    int                        `json:"parts"` // messages that follow
	Messages int                        `json:"messages"`
	States   map[string]json.RawMessage `json:"states,omitempty"`
	Usage    map[string]model.Usage     `json:"usage,omitempty"`
	Title    string                     `json:"title,omitempty"`
}

// Types of lines that the official tools do not have.
const (
	typeCall       = "haft-call"
	typeState      = "haft-state"
	typeCheckpoint = "haft-checkpoint"
	typeAsk        = "haft-ask"
	typeAnswer     = "haft-answer"
)

// typeLastPrompt is the line that tells the official tools which branch of the tree the
// conversation is on.
const typeLastPrompt = "last-prompt"

// inChain reports whether the line is part of the tree of messages.
func (l *line) inChain() bool { return l.isMessage() || l.isBoundary() || l.isLink() }

// isMessage reports whether the line is part of what was said. The line with an answer's
// end has no UUID: it adds nothing.
func (l *line) isMessage() bool {
	return l.UUID != "" && (l.Type == "user" || l.Type == "assistant")
}

// isLink reports whether the line only holds the tree together: what official tools attach
// to a conversation, such as what they told the model about its environment. Their next
// message follows it, and so does ours.
func (l *line) isLink() bool {
	return l.UUID != "" && len(l.Parent) > 0 && !l.isMessage() && !l.isBoundary()
}

func (l *line) isBoundary() bool { return l.Type == "system" && l.Subtype == "compact_boundary" }

// parent returns the message that the line follows, "" for the first.
func (l *line) parent() string {
	var s string
	if readText(&s, l.Parent) != nil {
		return ""
	}
	return s
}

func (l *line) extra() *extra {
	if l.Haft == nil {
		return &extra{}
	}
	return l.Haft
}

// setMessage fills in a message.
func (l *line) setMessage(m *Message) error {
	l.Type, l.said = string(m.Role), m
	var usage *model.Usage
	if m.Role == model.Assistant {
		// Readers that add tokens up count every line with a usage, so that an answer has
		// one: with its end, when all of it is known.
		if m.StopReason != "" || m.ID == "" || m.Error != "" {
			usage = &m.Usage
		} else if m.Usage != (model.Usage{}) {
			l.Haft = &extra{Stop: &stop{ID: m.ID, Model: m.Model, Usage: m.Usage}}
		}
	}
	l.IsMeta = m.Synthetic && m.Role == model.User
	l.IsAPIError, l.Error = m.Error != "", m.Error
	if len(m.Output) > 0 && plainjson.Valid(m.Output) {
		l.ToolUseResult = m.Output
	}
	if m.Denied != nil || m.Confined != nil && l.ToolUseResult != nil {
		l.Haft = &extra{Confined: m.Confined, Denied: m.Denied}
	}
	var err error
	l.Message, err = m.encode(usage)
	return err
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

// message reads the message of a line, once.
func (l *line) message() (*Message, error) {
	if l.read != nil {
		return l.read, nil
	}
	var w wireMessage
	if err := w.read(l.Message); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	content, err := model.ParseContent(w.Content)
	if err != nil {
		return nil, err
	}
	if so := l.extra().Stop; so != nil && w.Usage == (model.Usage{}) {
		w.Usage = so.Usage
	}
	l.read = &Message{
		Role: model.Role(l.Type), Content: content, Typed: l.Type == "user" && len(w.Content) > 0 && w.Content[0] == '"',
		ID: w.ID, Model: w.Model, StopReason: w.StopReason, Usage: w.Usage,
		Output: l.ToolUseResult, Confined: l.extra().Confined, Denied: l.extra().Denied, Synthetic: l.IsMeta || l.IsSummary, Error: l.errorText(),
	}
	return l.read, nil
}

// wireMessage is the message of a line. Content points into it.
type wireMessage struct {
	ID, Model  string
	Content    json.RawMessage
	StopReason model.StopReason
	Usage      model.Usage
}

func (w *wireMessage) read(raw []byte) error {
	return plainjson.Members(raw, func(name string, value []byte) error {
		switch name {
		case "id":
			return readText(&w.ID, value)
		case "model":
			return readText(&w.Model, value)
		case "content":
			w.Content = value
		case "stop_reason":
			return readText((*string)(&w.StopReason), value)
		case "usage":
			return json.Unmarshal(value, &w.Usage)
		}
		return nil
	})
}

func (l *line) errorText() string {
	if l.IsAPIError && l.Error == "" {
		return "unknown"
	}
	return l.Error
}

func (l *line) time() time.Time {
	t, err := time.Parse(time.RFC3339Nano, l.Timestamp)
	if err != nil {
		return time.Time{}
	}
	return t
}
