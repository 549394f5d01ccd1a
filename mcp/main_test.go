package mcp_test

import (
	"context"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/shellrun"
)

func TestMain(m *testing.M) {
	reexec := shellrun.Supervise()
	if os.Getenv(badEnv) == "modern" {
		_ = newModern().Run(context.Background(), &sdk.StdioTransport{})
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
