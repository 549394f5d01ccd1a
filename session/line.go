package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/haftdev/haft/internal/text/plainjson"
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

// appendTo appends the JSON. Steps of calls and states, of which there are several for each call, are put together here.
func (x *extra) appendTo(o object) (_ object, err error) {
	switch call, state := x.Call, x.State; {
	case call != nil && x.only(extra{Call: call}):
		o = append(o, `{"call":`...)
		o, err = call.appendTo(o)
	case state != nil && x.only(extra{State: state}):
		o = append(o, `{"state":{"name":`...)
		o = append(plainjson.AppendString(o, state.Name), `,"value":`...)
		o, err = plainjson.AppendCompact(o, state.Value)
		o = append(o, '}')
	default:
		var raw []byte
		raw, err = plainjson.Marshal(x)
		return append(o, raw...), err
	}
	return append(o, '}'), err
}

// only reports whether there is nothing else in x than in y, which has one member.
func (x *extra) only(y extra) bool {
	return x.Call == y.Call && x.State == y.State && x.Checkpoint == nil && x.Ask == nil && x.Answer == nil && x.Back == nil && x.Stop == nil &&
		x.Confined == nil && x.Denied == nil && x.Snapshot == nil && x.SummaryOf == "" && x.Blobs == nil
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

// answersCall reports whether the line is a result that an official tool wrote. A result of
// ours, whose UUID is derived from the call, follows all blocks of its answer that count.
func (l *line) answersCall() bool {
	if l.Type != "user" || isMadeOfName(l.UUID) {
		return false
	}
	m, err := l.message()
	return err == nil && len(resultsOf(m.Content)) > 0
}

// isMadeOfName reports whether a UUID was derived like those of [ResultUUID], and is not
// random.
func isMadeOfName(uuid string) bool { return len(uuid) == 36 && uuid[14] == '5' }

// sidechain reports whether the line belongs to a sub-agent's conversation, which older
// tools wrote into the same file.
func (l *line) sidechain() bool { return l.IsSidechain != nil && *l.IsSidechain }

// decode reads a line. Of a long conversation that is resumed there are many, so that the members that most lines have are
// read here; what is rare is left to encoding/json.
func (l *line) decode(raw []byte) error {
	return plainjson.Members(raw, func(name string, value []byte) error {
		switch name {
		case "parentUuid":
			l.Parent = bytes.Clone(value) // of the first message it is null
			return nil
		case "message":
			l.Message = bytes.Clone(value)
			return nil
		case "toolUseResult":
			l.ToolUseResult = bytes.Clone(value)
			return nil
		case "forkedFrom":
			l.ForkedFrom = bytes.Clone(value)
			return nil
		case "haft":
			return l.decodeExtra(value)
		}
		if text := l.textMember(name); text != nil {
			return readText(text, value)
		}
		if other := l.otherMember(name); other != nil {
			return json.Unmarshal(value, other)
		}
		return nil
	})
}

func (l *line) textMember(name string) *string {
	switch name {
	case "logicalParentUuid":
		return &l.LogicalParent
	case "userType":
		return &l.UserType
	case "cwd":
		return &l.Cwd
	case "sessionId":
		return &l.SessionID
	case "version":
		return &l.Version
	case "gitBranch":
		return &l.GitBranch
	case "agentId":
		return &l.AgentID
	case "type":
		return &l.Type
	case "subtype":
		return &l.Subtype
	case "content":
		return &l.Content
	case "uuid":
		return &l.UUID
	case "timestamp":
		return &l.Timestamp
	case "error":
		return &l.Error
	case "customTitle":
		return &l.CustomTitle
	case "lastPrompt":
		return &l.LastPrompt
	case "leafUuid":
		return &l.LeafUUID
	}
	return nil
}

func (l *line) otherMember(name string) any {
	switch name {
	case "isSidechain":
		return &l.IsSidechain
	case "isMeta":
		return &l.IsMeta
	case "isCompactSummary":
		return &l.IsSummary
	case "isApiErrorMessage":
		return &l.IsAPIError
	case "compactMetadata":
		return &l.Compact
	case "tag":
		return &l.Tag
	}
	return nil
}

// decodeExtra reads what only haft reads, of which steps of calls and states are most.
func (l *line) decodeExtra(raw []byte) error {
	var x extra
	err := plainjson.Members(raw, func(name string, value []byte) error {
		switch name {
		case "call":
			x.Call = &Call{}
			return x.Call.decode(value)
		case "state":
			x.State = &State{}
			return x.State.decode(value)
		}
		return errOther
	})
	if err != nil { // or to say what is wrong with it
		return json.Unmarshal(raw, &l.Haft)
	}
	l.Haft = &x
	return nil
}

// appendTo appends the line as [plainjson.Marshal] encodes it, in a fraction of its time: every step of every call is a
// line. What is JSON already, and most of the line, is put in as it is.
func (l *line) appendTo(dst []byte) ([]byte, error) {
	o := append(object(dst), '{')
	var err error
	raw := func(name string, value json.RawMessage) {
		if err == nil && len(value) > 0 {
			if bytes.IndexByte(value, '\n') >= 0 { // a line is one line
				value, err = plainjson.AppendCompact(nil, value)
			}
			o.raw(name, value)
		}
	}
	other := func(name string, value any, present bool) {
		if present && err == nil {
			var encoded []byte
			encoded, err = plainjson.Marshal(value)
			o.raw(name, encoded)
		}
	}
	raw("parentUuid", l.Parent)
	o.string("logicalParentUuid", l.LogicalParent)
	other("isSidechain", l.IsSidechain, l.IsSidechain != nil)
	o.string("userType", l.UserType)
	o.string("cwd", l.Cwd)
	o.name("sessionId")
	o = plainjson.AppendString(o, l.SessionID)
	o.string("version", l.Version)
	o.string("gitBranch", l.GitBranch)
	o.string("agentId", l.AgentID)
	o.name("type")
	o = plainjson.AppendString(o, l.Type)
	o.string("subtype", l.Subtype)
	o.string("content", l.Content)
	raw("message", l.Message)
	o.string("uuid", l.UUID)
	o.string("timestamp", l.Timestamp)
	raw("toolUseResult", l.ToolUseResult)
	o.truth("isMeta", l.IsMeta)
	o.truth("isCompactSummary", l.IsSummary)
	o.truth("isApiErrorMessage", l.IsAPIError)
	o.string("error", l.Error)
	other("compactMetadata", l.Compact, l.Compact != nil)
	o.string("customTitle", l.CustomTitle)
	other("tag", l.Tag, l.Tag != nil)
	o.string("lastPrompt", l.LastPrompt)
	o.string("leafUuid", l.LeafUUID)
	raw("forkedFrom", l.ForkedFrom)
	if l.Haft != nil && err == nil {
		o.name("haft")
		o, err = l.Haft.appendTo(o)
	}
	return append(o, '}'), err
}

// forked encodes a line of one session as one of another.
func (l *line) forked(ctx context.Context, from, to string, b *blobs) ([]byte, error) {
	l.ForkedFrom, _ = plainjson.Marshal(map[string]string{"sessionId": from, "messageUuid": l.UUID})
	l.SessionID = to
	if l.raw != nil { // a link of the official tools: the rest of it stays unchanged
		var members map[string]json.RawMessage
		if err := json.Unmarshal(l.raw, &members); err != nil {
			return nil, err
		}
		members["forkedFrom"] = l.ForkedFrom
		members["sessionId"], _ = plainjson.Marshal(to)
		raw, err := plainjson.Marshal(members)
		return append(raw, '\n'), err
	}
	raw, err := b.appendLine(ctx, nil, l)
	return append(raw, '\n'), err
}

// answer is what a line says about the answer that it belongs to.
func (l *line) answer() (a stop) {
	if l.said != nil {
		return stop{l.said.ID, l.said.Model, l.said.StopReason, l.said.Usage}
	}
	if m, err := l.message(); err == nil {
		return stop{m.ID, m.Model, m.StopReason, m.Usage}
	}
	_ = json.Unmarshal(l.Message, &a) // one that cannot be read says nothing
	return a
}
