package session

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/haftdev/haft/internal/plainjson"
)

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
	o.string("approved", c.Approved)
	o.string("confinement", string(c.Confinement))
	var err error
	if len(c.Input) > 0 {
		o.name("input")
		o, err = plainjson.AppendCompact(o, c.Input)
	}
	return append(o, '}'), err
}

// An object is the JSON of one that is being put together.
type object []byte

func (o *object) name(name string) {
	if (*o)[len(*o)-1] != '{' {
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

// number adds a member unless it is 0.
func (o *object) number(name string, value int) {
	if value != 0 {
		o.name(name)
		*o = strconv.AppendInt(*o, int64(value), 10)
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
