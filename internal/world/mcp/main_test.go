package mcp_test

import (
	"context"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/shellrun"
)

func TestMain(m *testing.M) {
	reexec := shellrun.Supervise()
	if os.Getenv(badEnv) == "modern" {
		server := newModern()
		if os.Getenv("MCP_TEST_OLD") != "" {
			server.AddReceivingMiddleware(refuseDiscover)
		}
		_ = server.Run(context.Background(), &sdk.StdioTransport{})
		os.Exit(0)
	}
	if mode := os.Getenv(badEnv); mode != "" {
		os.Exit(badServer(mode))
	}
	if os.Getenv(harnessEnv) != "" {
		harnessMain(reexec)
	}
	os.Exit(m.Run())
}

// refuseDiscover makes a server one of the older era.
func refuseDiscover(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "server/discover" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "unknown"}
		}
		return next(ctx, method, req)
	}
}
