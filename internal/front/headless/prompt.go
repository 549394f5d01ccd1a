package headless

import (
	"encoding/json"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/wire"
)

// text is what a prompt says, if it is nothing but text.
func text(p agent.Prompt) string {
	if len(p.Content) != 1 || p.Content[0].Type != model.Text {
		return ""
	}
	return p.Content[0].Text
}

// prompt reads a user message.
func prompt(u *wire.User) (agent.Prompt, error) {
	p := agent.Prompt{UUID: u.UUID, Silent: u.ShouldQuery != nil && !*u.ShouldQuery, Typed: u.Message.Content.Blocks == nil, Sender: sender(u.Origin)}
	switch u.Priority {
	case "now":
		p.Priority = agent.Now
	case "later":
		p.Priority = agent.Later
	}
	for _, b := range u.Message.Content.All() {
		raw, err := json.Marshal(b)
		if err != nil {
			return p, err
		}
		var block model.Block
		if err := json.Unmarshal(raw, &block); err != nil {
			return p, err
		}
		p.Content = append(p.Content, block)
	}
	return p, nil
}

// sender is what a program may say about who wrote a prompt: a user did. Only the command
// line may use the other kinds.
func sender(origin json.RawMessage) json.RawMessage {
	var o struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(origin, &o) != nil || o.Kind != "human" {
		return nil
	}
	return mustJSON(o)
}
