package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/question"
	"github.com/haftdev/haft/internal/world/mcp"
	sessions "github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// questions asks what the model wants to know: by a form if the client has forms,
// otherwise question by question, where one answer is to be chosen.
func (s *session) questions(ctx context.Context, c tool.Case) (tool.Verdict, error) {
	in, err := question.Of(c.Call)
	if err != nil {
		return tool.Verdict{}, err
	}
	answers := s.choices
	if s.client.Elicitation.Form != nil {
		answers = s.form
	}
	in.Answers, err = answers(ctx, c, in.Questions)
	switch {
	case errors.Is(err, errMultiple):
		return tool.Verdict{Behavior: tool.Deny, Reason: err.Error(), Message: "The user was not asked: " + err.Error() + ". Ask in your reply instead.", Unasked: true}, nil
	case err != nil:
		return unanswered(ctx, tool.Verdict{}, err)
	case in.Answers == nil:
		return tool.Verdict{Behavior: tool.Deny, Reason: "the user did not answer", Message: "The user did not answer. Continue without an answer, or ask in your reply instead of with this tool."}, nil
	}
	raw, err := json.Marshal(in)
	return tool.Verdict{Behavior: tool.Allow, Reason: "the user answered", Input: raw}, err
}

// errMultiple says that the client cannot ask for several answers.
var errMultiple = errors.New("the user's editor does not support choosing several answers")

// skip is the option that answers nothing.
const skip = "skip"

// choices asks one question after the other as the client asks about calls; nil if the
// user skips one.
func (s *session) choices(ctx context.Context, c tool.Case, questions []question.Question) (map[string]string, error) {
	answers := make(map[string]string)
	for i, q := range questions {
		if q.Multiple {
			return nil, errMultiple
		}
		u := s.describe(c.Call.Tools, c.Tool, c.Call)
		u.Title = visible.Indented(q.Text)
		var about []string
		var options []permissionOption
		for n, o := range q.Options {
			about = append(about, fmt.Sprintf("- **%s**: %s", visible.Indented(o.Label), visible.Indented(o.Description)))
			options = append(options, permissionOption{fmt.Sprintf("%d-%d", i, n), visible.Indented(o.Label), allowOnce})
		}
		u.Content = []any{content(textOf(visible.Text(q.Text) + "\n\n" + strings.Join(about, "\n")))}
		choice, err := s.ask(ctx, u, append(options, permissionOption{skip, "Skip", rejectOnce}))
		if err != nil || choice == skip {
			return nil, err
		}
		for n, o := range q.Options {
			if choice == options[n].ID {
				answers[q.Text] = o.Label
			}
		}
	}
	return answers, nil
}

// elicitation is a question of the protocol's own kind.
type elicitation struct {
	Session string          `json:"sessionId"`
	Call    string          `json:"toolCallId,omitempty"`
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema,omitempty"`
	ID      string          `json:"elicitationId,omitempty"`
	URL     string          `json:"url,omitempty"`
}

// form asks all questions in one form; nil if the user declines.
func (s *session) form(ctx context.Context, c tool.Case, questions []question.Question) (map[string]string, error) {
	properties := make(map[string]any)
	var required []string
	for i, q := range questions {
		key := fmt.Sprintf("question_%d", i+1)
		required = append(required, key)
		var labels []any
		for _, o := range q.Options {
			labels = append(labels, map[string]string{"const": o.Label, "title": o.Label, "description": o.Description})
		}
		property := map[string]any{"type": "string", "title": q.Header, "description": q.Text, "oneOf": labels}
		if q.Multiple {
			property = map[string]any{"type": "array", "title": q.Header, "description": q.Text, "items": map[string]any{"anyOf": labels}}
		}
		properties[key] = property
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil {
		return nil, err
	}
	var reply struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content"`
	}
	ask := elicitation{Session: s.id, Call: c.Call.UseID, Mode: "form", Message: heading(questions), Schema: schema}
	if err := s.srv.conn.call(ctx, methodElicit, ask, &reply); err != nil {
		return nil, err
	}
	switch reply.Action {
	case "accept":
	case "cancel":
		return nil, errCancelled
	default:
		return nil, nil
	}
	answers := make(map[string]string)
	for i, q := range questions {
		if answers[q.Text] = chosen(reply.Content[required[i]]); answers[q.Text] == "" {
			return nil, nil
		}
	}
	return answers, nil
}

// heading is what a form is about.
func heading(questions []question.Question) string {
	if len(questions) == 1 {
		return visible.Text(questions[0].Text)
	}
	return "The agent has some questions."
}

// chosen is an answer as text: one, or several with commas between them.
func chosen(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var several []string
	_ = json.Unmarshal(raw, &several) // what is neither is no answer
	return strings.Join(several, ", ")
}

// elicit asks what an MCP server wants to know.
func (s *session) elicit(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
	s.drive.CatchUp(ctx)
	ask := elicitation{Session: s.id, Mode: "form", Message: visible.Text(e.Server + ": " + e.Message), Schema: e.Schema}
	able := s.client.Elicitation.Form != nil
	if e.Mode == "url" {
		able = s.client.Elicitation.URL != nil
		ask.Mode, ask.Schema, ask.URL, ask.ID = "url", nil, e.URL, sessions.NewUUID()
	}
	if !able {
		return mcp.Answer{Action: "decline"}, nil
	}
	var reply mcp.Answer
	if err := s.srv.conn.call(ctx, methodElicit, ask, &reply); err != nil {
		return mcp.Answer{}, err
	}
	switch reply.Action {
	case "accept", "decline", "cancel":
		return reply, nil
	}
	return mcp.Answer{Action: "decline"}, nil
}
