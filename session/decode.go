package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/tool"
)

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

// errOther says that there is more than is read here.
var errOther = errors.New("a part that is read elsewhere")

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

// readText reads a string; null changes nothing.
func readText(to *string, raw []byte) (err error) {
	if string(raw) != "null" {
		*to, err = plainjson.Text(raw)
	}
	return err
}
