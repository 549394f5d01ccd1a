package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
)

// A Prompt is a prompt of a server, which front ends offer as a command.
type Prompt struct {
	Server string `json:"server"`
	// Command is the name of the command, mcp__server__prompt; Name is the server's.
	Command     string      `json:"command"`
	Name        string      `json:"name"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Arguments   []PromptArg `json:"arguments,omitempty"`
}

// A PromptArg is an argument of a prompt.
type PromptArg struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// A PromptMessage is one message of a prompt; Content is the block as it was received.
type PromptMessage struct {
	Role    string          `json:"role"` // user or assistant
	Content json.RawMessage `json:"content"`
}

// A Completion asks a server to complete an argument of a prompt or of a resource template.
type Completion struct {
	Server   string
	Prompt   string // the server's name for the prompt, or
	Template string // the URI template
	Argument string
	Value    string            // what was typed so far
	Others   map[string]string // the arguments that are already known
}

// Prompts lists the prompts of all servers, by server and name.
func (h *Host) Prompts() []Prompt {
	all := []Prompt{}
	for _, p := range peersOf(h) {
		p.mu.Lock()
		if p.state != Disabled {
			all = append(all, p.known.prompts...)
		}
		p.mu.Unlock()
	}
	return all
}

// GetPrompt fills in the prompt with the given command name.
func (h *Host) GetPrompt(ctx context.Context, command string, args map[string]string) ([]PromptMessage, error) {
	all := h.Prompts()
	i := slices.IndexFunc(all, func(p Prompt) bool { return p.Command == command })
	if i < 0 {
		return nil, fmt.Errorf("there is no prompt %s", command)
	}
	for _, a := range all[i].Arguments {
		if _, given := args[a.Name]; a.Required && !given {
			return nil, fmt.Errorf("the prompt %s needs the argument %s", command, a.Name)
		}
	}
	return ask(ctx, h, all[i].Server, func(ctx context.Context, s *session) ([]PromptMessage, error) {
		res, err := s.wire.GetPrompt(ctx, &sdk.GetPromptParams{Name: all[i].Name, Arguments: args})
		if err != nil {
			return nil, err
		}
		raw, ok := s.gate.Redeem(res.Meta)
		if !ok {
			return nil, errors.New("the prompt was lost")
		}
		messages := []PromptMessage{}
		for m := range envelope.Elements(envelope.Field(raw, "messages")) {
			var message PromptMessage
			if err := json.Unmarshal(m, &message); err != nil {
				return nil, fmt.Errorf("could not read a message in the prompt: %w", err)
			}
			messages = append(messages, message)
		}
		return messages, nil
	})
}

// Complete returns possible values of an argument, and whether there are more.
func (h *Host) Complete(ctx context.Context, c Completion) (values []string, more bool, err error) {
	res, err := ask(ctx, h, c.Server, func(ctx context.Context, s *session) (*sdk.CompleteResult, error) {
		if caps := s.wire.InitializeResult().Capabilities; caps != nil && caps.Completions == nil {
			return new(sdk.CompleteResult), nil
		}
		ref := &sdk.CompleteReference{Type: "ref/prompt", Name: c.Prompt}
		if c.Template != "" {
			ref = &sdk.CompleteReference{Type: "ref/resource", URI: c.Template}
		}
		params := &sdk.CompleteParams{Ref: ref, Argument: sdk.CompleteParamsArgument{Name: c.Argument, Value: c.Value}}
		if len(c.Others) > 0 {
			params.Context = &sdk.CompleteContext{Arguments: c.Others}
		}
		return s.wire.Complete(ctx, params)
	})
	if err != nil {
		return nil, false, err
	}
	return res.Completion.Values, res.Completion.HasMore, nil
}
