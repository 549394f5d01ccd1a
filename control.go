package haft

import (
	"context"

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

// ask is Call for an answer of a known type.
func ask[Reply any](ctx context.Context, c *Client, r wire.Request) (Reply, error) {
	var reply Reply
	err := c.Call(ctx, r, &reply)
	return reply, err
}
