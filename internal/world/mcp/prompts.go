package mcp

import (
	"encoding/json"
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
