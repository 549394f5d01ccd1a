package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/stdio"
)

// shutdownGrace is what a server has between one way of ending it and the next.
const shutdownGrace = 400 * time.Millisecond

// A processLink is the link to a server process.
type processLink struct{ *stdio.Conn }

func (l processLink) Connect(context.Context) (sdk.Connection, error) { return l.Conn, nil }
