package session

import (
	"bytes"
	"encoding/json"

	"github.com/haftdev/haft/internal/plainjson"
)

// encode encodes a line as [plainjson.Marshal] does, in a fraction of its time: every step of every call is a line. What is
// JSON already, and most of the line, is put in as it is.
func (l *line) encode() ([]byte, error) {
	o := make(object, 1, 512+len(l.Message)+len(l.ToolUseResult))
	o[0] = '{'
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
	other("haft", l.Haft, l.Haft != nil)
	return append(o, '}'), err
}

// An object is the JSON of one that is being put together.
type object []byte

func (o *object) name(name string) {
	if len(*o) > 1 {
		*o = append(*o, ',')
	}
	*o = append(append(append(*o, '"'), name...), `":`...)
}

// string adds a member unless it is empty.
func (o *object) string(name, value string) {
	if value != "" {
		o.name(name)
		*o = plainjson.AppendString(*o, value)
	}
}

// truth adds a member if it is true.
func (o *object) truth(name string, value bool) {
	if value {
		o.raw(name, json.RawMessage("true"))
	}
}

func (o *object) raw(name string, value json.RawMessage) {
	o.name(name)
	*o = append(*o, value...)
}
