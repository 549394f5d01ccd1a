package mcp

import "encoding/json"

// A Resource is something that a server lets one read.
type Resource struct {
	Server      string `json:"server"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        int64  `json:"size,omitempty"`
	// Template is set for an URI template, whose URI has {variables} to fill in.
	Template bool `json:"template,omitempty"`
}

// Contents is what reading a resource gives: one of Text and Blob.
type Contents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitempty"`
}

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

// A PromptMessage is one message of a prompt; Content is the block as it came.
type PromptMessage struct {
	Role    string          `json:"role"` // user or assistant
	Content json.RawMessage `json:"content"`
}

// A Completion asks a server how an argument goes on: of a prompt, or of a
// resource template.
type Completion struct {
	Server   string
	Prompt   string // the server's name of the prompt, or
	Template string // the URI template
	Argument string
	Value    string            // what was typed so far
	Others   map[string]string // the arguments that are known already
}
