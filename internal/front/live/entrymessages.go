package live

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// Messages are what an entry of a session's journal means on the wire; none if it means
// nothing to others.
func Messages(id string, e *session.Entry) []wire.Message {
	stamp := wire.Stamp{UUID: e.UUID, SessionID: id}
	if stamp.UUID == "" {
		stamp.UUID = session.NewUUID()
	}
	switch {
	case e.Message != nil && e.Message.Role == model.Assistant:
		return assistant(stamp, e)
	case e.Message != nil:
		return user(id, e)
	case e.Call != nil:
		c := e.Call
		m := &wire.CallStep{Stamp: stamp, Step: string(c.Step), ToolUseID: c.UseID, ToolName: c.Tool, AgentID: e.Agent, Timestamp: timestamp(e.Time)}
		if c.Step == session.Judged {
			m.Behavior, m.Reason, m.Confinement = c.Behavior.String(), c.Reason, string(c.Confinement)
			m.Unasked, m.Remedy = c.Unasked, c.Remedy
		}
		return []wire.Message{m}
	case e.Ask != nil:
		a := e.Ask
		return []wire.Message{&wire.QuestionAsked{Stamp: stamp, QuestionID: a.ID, ToolUseID: a.UseID, ToolName: a.Tool, AgentID: e.Agent, Reason: a.Reason, Rules: a.Rules, Timestamp: timestamp(e.Time)}}
	case e.Answer != nil:
		m := &wire.QuestionAnswered{Stamp: stamp, QuestionID: e.Answer.ID, By: e.Answer.By, AgentID: e.Agent, Timestamp: timestamp(e.Time)}
		if e.Answer.Behavior != tool.NoView {
			m.Behavior = e.Answer.Behavior.String()
		}
		return []wire.Message{m}
	case e.Compaction != nil:
		return []wire.Message{&wire.CompactBoundary{Stamp: stamp, CompactMetadata: wire.CompactMetadata{Trigger: e.Compaction.Trigger, PreTokens: int(e.Compaction.PreTokens)}}}
	case e.Back != nil:
		text := "The conversation was returned to an earlier message. Later messages no longer count."
		if e.Back.Prompt != "" {
			text = fmt.Sprintf("The conversation was returned to the message %q. Later messages no longer count.", line(e.Back.Prompt))
		}
		return []wire.Message{&wire.Informational{Stamp: stamp, Level: "info", Content: text}}
	case e.State != nil:
		return stateMessages(stamp, e.State)
	}
	return nil
}

// stateMessages tell of the facts that the wire has words for.
func stateMessages(stamp wire.Stamp, s *session.State) []wire.Message {
	var text string
	if json.Unmarshal(s.Value, &text) != nil {
		return nil
	}
	switch s.Name {
	case agent.StateMode:
		return []wire.Message{&wire.Status{Stamp: stamp, PermissionMode: text}}
	case "title":
		return []wire.Message{&wire.SessionTitleChanged{Stamp: stamp, Title: text}}
	}
	return nil
}

func assistant(stamp wire.Stamp, e *session.Entry) []wire.Message {
	m := e.Message
	if len(m.Content) == 0 {
		return nil // the end of an answer, which its last block and the result tell
	}
	out := &wire.Assistant{
		Stamp: stamp, AgentID: e.Agent, Timestamp: timestamp(e.Time),
		Message: wire.AssistantMessage{
			ID: m.ID, Type: "message", Role: "assistant", Model: m.Model, Content: blocks(m.Content), StopReason: wire.NullString(m.StopReason),
			Usage: wire.Usage{InputTokens: int(m.Usage.Input), OutputTokens: int(m.Usage.Output), CacheCreationInputTokens: int(m.Usage.CacheWrite), CacheReadInputTokens: int(m.Usage.CacheRead)},
		},
	}
	if m.Error != "" {
		out.Error, out.IsAPIErrorMessage = m.Error, true
	}
	return []wire.Message{out}
}

func user(id string, e *session.Entry) []wire.Message {
	return []wire.Message{&wire.User{
		UUID: e.UUID, SessionID: id, AgentID: e.Agent, Timestamp: timestamp(e.Time), IsSynthetic: e.Message.Synthetic,
		Message:       wire.UserMessage{Role: "user", Content: wire.Content{Blocks: blocks(e.Message.Content)}},
		ToolUseResult: e.Message.Output,
	}}
}

// blocks are those of a message as the wire has them, which is as the API does.
func blocks(list []model.Block) (out wire.List[wire.Block]) {
	for _, b := range list {
		raw, err := plainjson.Marshal(b)
		if err != nil {
			raw, _ = json.Marshal(map[string]string{"type": "text", "text": "[" + err.Error() + "]"})
			b.Type = model.Text
		}
		out = append(out, wire.Block{Type: string(b.Type), Raw: raw})
	}
	return out
}

// line is the beginning of a text, in one line.
func line(text string) string {
	text, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more {
		text += "…"
	}
	return shorten.To(text, 61)
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
