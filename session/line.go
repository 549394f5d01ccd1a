package session

import (
	"bytes"
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
	Stop       *stop       `json:"stop,omitempty"`
	Confined   *Confined   `json:"confined,omitempty"`
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
	if json.Unmarshal(l.Parent, &s) != nil {
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

// wireMessage is the message of a line. Content is read by model.Message.
type wireMessage struct {
	ID         string            `json:"id,omitempty"`
	Type       string            `json:"type,omitempty"`
	Role       model.Role        `json:"role"`
	Model      string            `json:"model,omitempty"`
	Content    any               `json:"content"` // blocks, or the text of a prompt that was typed
	StopReason *model.StopReason `json:"stop_reason,omitempty"`
	Usage      *model.Usage      `json:"usage,omitempty"`
}

// setMessage fills in a message.
func (l *line) setMessage(m *Message) error {
	w := wireMessage{ID: m.ID, Role: m.Role, Model: m.Model}
	content := []json.RawMessage{}
	for _, b := range m.Content {
		raw, err := plainjson.Marshal(sendable(b))
		if err != nil {
			return fmt.Errorf("encode message: %w", err)
		}
		content = append(content, raw)
	}
	w.Content = content
	if m.Typed && len(m.Content) == 1 && m.Content[0].Type == model.Text {
		w.Content = m.Content[0].Text
	}
	l.Type, l.said = string(m.Role), m
	if m.Role == model.Assistant {
		w.Type = "message"
		if m.StopReason != "" {
			w.StopReason = &m.StopReason
		}
		// Readers that add up tokens count every line with a usage, so each answer has
		// exactly one, in its last line, when it is complete.
		if m.StopReason != "" || m.ID == "" || m.Error != "" {
			w.Usage = &m.Usage
		} else if m.Usage != (model.Usage{}) {
			l.Haft = &extra{Stop: &stop{ID: m.ID, Model: m.Model, Usage: m.Usage}}
		}
	}
	l.IsMeta = m.Synthetic && m.Role == model.User
	l.IsAPIError, l.Error = m.Error != "", m.Error
	if len(m.Output) > 0 && json.Valid(m.Output) {
		l.ToolUseResult = m.Output
		if m.Confined != nil {
			l.Haft = &extra{Confined: m.Confined}
		}
	}
	var err error
	l.Message, err = plainjson.Marshal(w)
	return err
}

// sendable returns a block whose input is an object. If a model wrote something else, it is
// wrapped in one, so that the line can be parsed and the block sent.
func sendable(b model.Block) model.Block {
	if b.Type != model.ToolUse || b.Raw != nil {
		return b
	}
	in := bytes.TrimSpace(b.Input)
	if len(in) == 0 || in[0] == '{' && json.Valid(in) {
		return b
	}
	raw, err := plainjson.Marshal(map[string]any{"__unparsedToolInput": map[string]any{"raw": string(b.Input), "len": len(b.Input)}})
	if err == nil {
		b.Input = raw
	}
	return b
}

// message reads the message of a line, once.
func (l *line) message() (*Message, error) {
	if l.read != nil {
		return l.read, nil
	}
	var w struct {
		ID         string           `json:"id"`
		Model      string           `json:"model"`
		Content    json.RawMessage  `json:"content"`
		StopReason model.StopReason `json:"stop_reason"`
		Usage      model.Usage      `json:"usage"`
	}
	if err := json.Unmarshal(l.Message, &w); err != nil {
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
		Output: l.ToolUseResult, Confined: l.extra().Confined, Synthetic: l.IsMeta || l.IsSummary, Error: l.errorText(),
	}
	return l.read, nil
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
