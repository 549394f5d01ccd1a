package mcp

import (
	"context"
	"encoding/json"

	"github.com/haftdev/haft/tool"
)

// A Host holds the servers of a session.
type Host struct {
	opts Options
}

// NewHost makes a Host. Nothing is started before Start.
func NewHost(opts *Options) *Host {
	h := new(Host)
	if opts != nil {
		h.opts = *opts
	}
	return h
}

// Start adds servers and connects to them. It returns at once.
func (h *Host) Start(servers []Server) { h.Set(servers) }

// A Change is what [Host.Set] did.
type Change struct {
	Added   []string          `json:"added"`
	Removed []string          `json:"removed"`
	Errors  map[string]string `json:"errors"`
}

// Set makes servers the ones that the host holds: it starts the new ones, ends
// those that are gone and starts the changed ones again. It does not wait for
// connections.
func (h *Host) Set(servers []Server) Change { return Change{Errors: map[string]string{}} }

// Wait returns when no server is on its way any more, or when ctx ends.
func (h *Host) Wait(ctx context.Context) error { return nil }

// Close ends all servers.
func (h *Host) Close() error { return nil }

// Status tells about all servers, by name.
func (h *Host) Status() []Status { return nil }

// Tools returns the tools of all servers that have been connected, by server and
// name.
func (h *Host) Tools() []tool.Tool { return nil }

// Call calls a tool by its server's name for it. The call's input is the
// arguments; see [Output] for the result.
func (h *Host) Call(ctx context.Context, server, name string, c *tool.Call) (tool.Result, error) {
	return tool.Result{}, h.unknown(server)
}

// Reconnect ends the connection to a server and makes it anew, and waits for it.
func (h *Host) Reconnect(ctx context.Context, server string) error { return h.unknown(server) }

// Toggle switches a server off, or on again.
func (h *Host) Toggle(server string, enabled bool) error { return h.unknown(server) }

// SetRoots changes the directories that servers are told about.
func (h *Host) SetRoots(dirs []string) {}

// Receive takes a message that an in-process server sent by itself.
func (h *Host) Receive(server string, message json.RawMessage) error { return h.unknown(server) }

// Resources lists the resources and templates of a server, or of all ("").
func (h *Host) Resources(ctx context.Context, server string) ([]Resource, error) { return nil, nil }

// ReadResource reads a resource.
func (h *Host) ReadResource(ctx context.Context, server, uri string) ([]Contents, error) {
	return nil, h.unknown(server)
}

// Subscribe asks a server to tell when a resource changes; see Options.OnUpdate.
func (h *Host) Subscribe(ctx context.Context, server, uri string) error { return h.unknown(server) }

// Unsubscribe ends what Subscribe began.
func (h *Host) Unsubscribe(ctx context.Context, server, uri string) error { return h.unknown(server) }

// Prompts lists the prompts of all servers.
func (h *Host) Prompts() []Prompt { return nil }

// GetPrompt fills in a prompt, given by its command.
func (h *Host) GetPrompt(ctx context.Context, command string, args map[string]string) ([]PromptMessage, error) {
	return nil, nil
}

// Complete returns how an argument may go on, and whether there is more.
func (h *Host) Complete(ctx context.Context, c Completion) (values []string, more bool, err error) {
	return nil, false, h.unknown(c.Server)
}

// An UnknownServer is the name of a server that the host does not hold.
type UnknownServer string

func (e UnknownServer) Error() string { return "Server not found: " + string(e) }

func (h *Host) unknown(server string) error { return UnknownServer(server) }
