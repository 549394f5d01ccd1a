package headless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// toolUseResult is the typed output; of a call that failed, a string.
func toolUseResult(out *sched.Outcome) json.RawMessage {
	if out.IsError() {
		text := out.Result.Text()
		if out.Status == sched.Denied {
			text = "User rejected tool use"
		} else if !strings.HasPrefix(text, "Error") && !strings.Contains(text, "ValidationError") {
			text = "Error: " + text
		}
		return mustJSON(text)
	}
	if out.Result.Output == nil {
		return mustJSON(out.Result.Text())
	}
	raw, err := plainjson.Marshal(out.Result.Output)
	if err != nil {
		return mustJSON(out.Result.Text())
	}
	if len(raw) > maxOutput {
		return short(raw, out)
	}
	return raw
}

const (
	maxOutput = 1 << 20  // bytes of a typed output on the wire
	maxString = 32 << 10 // bytes of a string in one that is longer
	head      = 2 << 10  // bytes that are left of a longer string
)

// short is a typed output with its long strings cut, or what the model reads if that is not
// enough. A program that wants all of it reads the file that the result names.
func short(raw json.RawMessage, out *sched.Outcome) json.RawMessage {
	var value any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&value) == nil {
		where := "the whole was not kept"
		if out.Kept != nil && out.Kept.Path != "" {
			where = "the whole result is in " + out.Kept.Path
		}
		cut, err := plainjson.Marshal(cutStrings(value, where))
		if err == nil && len(cut) <= maxOutput {
			return cut
		}
	}
	return mustJSON(out.Result.Text())
}

// cutStrings cuts the strings of a JSON value in place.
func cutStrings(value any, where string) any {
	switch v := value.(type) {
	case string:
		if len(v) > maxString {
			return fmt.Sprintf("%s… [%d bytes, cut here: %s]", strings.ToValidUTF8(v[:head], ""), len(v), where)
		}
	case []any:
		for i := range v {
			v[i] = cutStrings(v[i], where)
		}
	case map[string]any:
		for key := range v {
			v[key] = cutStrings(v[key], where)
		}
	}
	return value
}

// resultMeta says who decided about the call. A call that did not get that far has none.
func resultMeta(out *sched.Outcome) []wire.ToolResultMeta {
	v := out.Verdict
	if v.Behavior != tool.Allow && v.Behavior != tool.Deny {
		return nil
	}
	m := wire.ToolResultMeta{ID: out.UseID, PermissionDecision: &wire.PermissionDecision{Decision: "accept", Source: "config"}}
	if v.Behavior == tool.Deny {
		m.PermissionDecision.Decision = "reject"
		m.NonExecutionKind = "permission-rule"
	}
	switch {
	case v.Reason == byHost, v.Unasked && strings.Contains(v.Reason, wasAsked):
		m.PermissionDecision.Source = "user_temporary"
		if v.Behavior == tool.Deny {
			m.PermissionDecision.Source, m.NonExecutionKind = "user_reject", "user-rejected"
		}
	case v.Unasked:
		m.PermissionDecision.ReasonType = "other"
	case byHook(v):
		m.PermissionDecision.Source, m.PermissionDecision.ReasonType = "hook", "hook"
	case v.Rule != "":
		m.PermissionDecision.ReasonType = "rule"
	case strings.Contains(v.Reason, "mode"):
		m.PermissionDecision.ReasonType = "mode"
	default:
		m.PermissionDecision.ReasonType = "other"
	}
	if c, ok := out.Result.Output.(tool.Confined); ok {
		to, tier := c.ConfinedTo()
		m.Confinement, m.Sandbox = string(to), tier
	}
	return []wire.ToolResultMeta{m}
}

// byHook reports whether a hook decided.
func byHook(v tool.Verdict) bool { return !v.Unasked && strings.Contains(v.Reason, "hook") }

// added reports a message that the harness added, and repeats prompts if the program wants
// that.
func (t *teller) added(ev agent.Added) {
	m := &wire.User{UUID: ev.UUID, SessionID: t.sessionID(), ParentToolUseID: t.parent(ev.Agent), AgentID: ev.Agent, Timestamp: timestamp()}
	m.Message = wire.UserMessage{Role: "user", Content: content(ev.Message.Content)}
	switch ev.Kind {
	case agent.Prompted:
		t.joins(ev)
		child := t.agents[ev.Agent]
		if ev.Agent == "" && !t.replay || child.Background {
			return
		}
		m.IsReplay, m.SubagentType, m.TaskDescription = ev.Agent == "", child.AgentType, child.Description
		if m.IsReplay && ev.Prompt != nil { // as it was sent, without what the model is told about it
			m.Origin, m.Message.Content = ev.Prompt.Sender, content(ev.Prompt.Content)
			if ev.Prompt.Typed && len(ev.Prompt.Content) == 1 {
				m.Message.Content = wire.Content{Text: ev.Prompt.Content[0].Text}
			}
		}
	case agent.Interrupted:
	case agent.Summarized:
		m.IsSynthetic = true
		m.Message.Content = wire.Content{Text: textOf(ev.Message.Content)}
	case agent.Instructed:
		m.IsSynthetic = true
	default:
		return // what is only for the model
	}
	t.send(m)
}

// joins reports that a prompt has joined the running turn.
func (t *teller) joins(ev agent.Added) {
	if ev.Prompt == nil || ev.Agent != "" || slices.Contains(t.started, ev.Prompt.UUID) {
		return
	}
	for _, uuid := range t.followed([]agent.Prompt{*ev.Prompt}) {
		t.lifecycle(uuid, "started")
	}
}

func textOf(blocks []model.Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == model.Text {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

func content(blocks []model.Block) wire.Content {
	c := wire.Content{Blocks: []wire.Block{}}
	for _, b := range blocks {
		c.Blocks = append(c.Blocks, block(b))
	}
	return c
}
