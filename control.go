package haft

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/haftdev/haft/wire"
)

// Answers of the command line.
type (
	// Info is what the command line offers: commands, models, agents. Its fields are those of
	// [wire.InitializeReply].
	Info = wire.InitializeReply
	// MCPServerStatus is the state of an MCP server.
	// Its fields are those of [wire.MCPServerStatus].
	MCPServerStatus = wire.MCPServerStatus
	// ContextUsage says what fills the model's context.
	// Its fields are those of [wire.ContextUsage].
	ContextUsage = wire.ContextUsage
	// Usage is what the session has cost. Its fields are those of [wire.UsageReply].
	Usage = wire.UsageReply
	// MCPChanges is the result of changing the MCP servers.
	// Its fields are those of [wire.MCPSetServersReply].
	MCPChanges = wire.MCPSetServersReply
	// Rewound says what a rewind changed or would change.
	// Its fields are those of [wire.RewindFilesReply].
	Rewound = wire.RewindFilesReply
	// Explanation is what would be decided about a call.
	// Its fields are those of [wire.ExplainCallReply].
	Explanation = wire.ExplainCallReply
)

// Info returns what the command line said it offers when it started.
func (c *Client) Info() Info { return c.info }

// Call makes any request of package wire. Reply points to a value of the type of its
// answer, or is nil. The other methods are shorthands for it.
func (c *Client) Call(ctx context.Context, r wire.Request, reply any) error {
	return c.conn.Call(ctx, r, reply)
}

// ask is Call for an answer of a known type.
func ask[Reply any](ctx context.Context, c *Client, r wire.Request) (Reply, error) {
	var reply Reply
	err := c.Call(ctx, r, &reply)
	return reply, err
}

// Interrupt stops the running turn, which still ends with a result. It returns the ids of
// prompts that are still queued.
func (c *Client) Interrupt(ctx context.Context) (queued []string, err error) {
	reply, err := ask[wire.InterruptReply](ctx, c, &wire.Interrupt{})
	return reply.StillQueued, err
}

// SetMode changes the permission mode.
func (c *Client) SetMode(ctx context.Context, m Mode) error {
	return c.Call(ctx, &wire.SetPermissionMode{Mode: string(m)}, nil)
}

// SetModel changes the model, "" to the default one, and returns its full name.
func (c *Client) SetModel(ctx context.Context, name string) (string, error) {
	reply, err := ask[wire.SetModelReply](ctx, c, &wire.SetModel{Model: name})
	return reply.Model, err
}

// SetMaxThinkingTokens bounds thinking; nil means the model's default.
func (c *Client) SetMaxThinkingTokens(ctx context.Context, n *int) error {
	return c.Call(ctx, &wire.SetMaxThinkingTokens{MaxThinkingTokens: n}, nil)
}

// MCPStatus returns the state of all MCP servers.
func (c *Client) MCPStatus(ctx context.Context) ([]MCPServerStatus, error) {
	reply, err := ask[wire.MCPStatusReply](ctx, c, &wire.MCPStatus{})
	return reply.MCPServers, err
}

// SetMCPServers replaces the MCP servers that this program provides, including those made
// of Go functions. Servers that are configured elsewhere stay.
func (c *Client) SetMCPServers(ctx context.Context, servers map[string]MCPServer) (*MCPChanges, error) {
	configs := map[string]json.RawMessage{}
	for name, server := range servers {
		config, err := mcpConfig(name, server)
		if err != nil {
			return nil, err
		}
		configs[name] = config
	}
	c.mu.Lock()
	before := c.servers
	c.servers = maps.Clone(servers) // before the request: its answer may need them
	c.mu.Unlock()
	reply, err := ask[MCPChanges](ctx, c, &wire.MCPSetServers{Servers: configs})
	if err != nil {
		c.mu.Lock()
		c.servers = before
		c.mu.Unlock()
	}
	return &reply, err
}

// ReconnectMCP connects to an MCP server again.
func (c *Client) ReconnectMCP(ctx context.Context, server string) error {
	return c.Call(ctx, &wire.MCPReconnect{ServerName: server}, nil)
}

// ToggleMCP switches an MCP server on or off.
func (c *Client) ToggleMCP(ctx context.Context, server string, on bool) error {
	return c.Call(ctx, &wire.MCPToggle{ServerName: server, Enabled: on}, nil)
}

// ContextUsage says what fills the model's context.
func (c *Client) ContextUsage(ctx context.Context) (*ContextUsage, error) {
	reply, err := ask[ContextUsage](ctx, c, &wire.GetContextUsage{})
	return &reply, err
}

// Usage says what the session has cost.
func (c *Client) Usage(ctx context.Context) (*Usage, error) {
	reply, err := ask[Usage](ctx, c, &wire.GetUsage{SkipBehaviors: true})
	return &reply, err
}

// Rewind restores the files to what they were when the prompt with this id (see
// [Client.Send]) was sent.
func (c *Client) Rewind(ctx context.Context, prompt string) (*Rewound, error) {
	reply, err := ask[Rewound](ctx, c, &wire.RewindFiles{UserMessageID: prompt})
	return &reply, err
}

// PreviewRewind returns what Rewind would do.
func (c *Client) PreviewRewind(ctx context.Context, prompt string) (*Rewound, error) {
	reply, err := ask[Rewound](ctx, c, &wire.RewindFiles{UserMessageID: prompt, DryRun: true})
	return &reply, err
}

// ReadFile reads a file where the command line runs.
func (c *Client) ReadFile(ctx context.Context, path string) (string, error) {
	reply, err := ask[wire.ReadFileReply](ctx, c, &wire.ReadFile{Path: path})
	return reply.Contents, err
}

// StopTask ends a task in the background.
func (c *Client) StopTask(ctx context.Context, id string) error {
	return c.Call(ctx, &wire.StopTask{TaskID: id}, nil)
}

// Background moves a running call, named by the id of its tool_use block, to the
// background: the call returns, and its end is reported later. "" means all running calls.
// Background reports whether there was such a call; for "" it always reports true.
func (c *Client) Background(ctx context.Context, useID string) (bool, error) {
	reply, err := ask[wire.BackgroundTasksReply](ctx, c, &wire.BackgroundTasks{ToolUseID: useID})
	return err == nil && (reply.Backgrounded == nil || *reply.Backgrounded), err
}

// TaskOutput returns the end of what a command in the background has written.
func (c *Client) TaskOutput(ctx context.Context, id string) (string, error) {
	reply, err := ask[wire.TaskOutputReply](ctx, c, &wire.GetTaskOutput{TaskID: id})
	return reply.Output, err
}

// Rename gives the session a title.
func (c *Client) Rename(ctx context.Context, title string) error {
	return c.Call(ctx, &wire.RenameSession{Title: title}, nil)
}

// ApplySettings overrides the current settings.
func (c *Client) ApplySettings(ctx context.Context, settings json.RawMessage) error {
	return c.Call(ctx, &wire.ApplyFlagSettings{Settings: settings}, nil)
}

// Explain says what would be decided about a call of a tool with this input, by the code that
// decides about the model's calls. Nothing runs, and no one is asked.
func (c *Client) Explain(ctx context.Context, tool string, input any) (*Explanation, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("encode the input of %s: %w", tool, err)
	}
	reply, err := ask[Explanation](ctx, c, &wire.ExplainCall{ToolName: tool, Input: raw})
	return &reply, err
}
