package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type empty struct{}

type sized struct {
	Bytes int `json:"bytes"`
}

// serve is a server: MODE[=ARGUMENT].
func serve(mode string) int {
	mode, arg, _ := strings.Cut(mode, "=")
	switch mode {
	case "silent":
		time.Sleep(time.Hour)
	case "slow":
		d, _ := time.ParseDuration(arg)
		time.Sleep(d)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		defer time.Sleep(time.Hour)
	case "parent":
		cmd := exec.Command("sleep", "3600")
		if err := cmd.Start(); err != nil {
			return 1
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Answers."}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		return text("ok"), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "big", Description: "Answers at length."}, func(_ context.Context, _ *mcp.CallToolRequest, in sized) (*mcp.CallToolResult, any, error) {
		return text(strings.Repeat("a", in.Bytes)), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "crash", Description: "Ends the server."}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		os.Exit(1)
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait", Description: "Waits."}, func(ctx context.Context, _ *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	if mode == "many" {
		n, _ := strconv.Atoi(arg)
		for i := range n {
			mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("tool_%03d", i), Description: strings.Repeat("Does one thing of many, described at length. ", 8)},
				func(context.Context, *mcp.CallToolRequest, sized) (*mcp.CallToolResult, any, error) {
					return text("ok"), nil, nil
				})
		}
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
