package serve

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/test/conformance"
	"github.com/haftdev/haft/tool"
)

// TestConformance runs the official suite, both revisions, against one endpoint of
// this package. The tools, prompts and resources that the suite calls are in
// fixture_test.go; everything else is what haft serves with.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds and more")
	}
	suite := conformance.Install(t)
	s, err := New(nil, fixtureCaller{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(s)
	web := httptest.NewServer(s.Handler(nil))
	t.Cleanup(func() {
		f.stop()
		s.Close()
		web.CloseClientConnections()
		web.Close()
	})
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) { suite.Server(t, web.URL+"/mcp", revision) })
	}
}

// fixtureCaller is the pipeline of the tools that go through one.
type fixtureCaller struct{}

func (fixtureCaller) Call(_ context.Context, c Call) (tool.Result, error) {
	switch c.Tool {
	case "test_image_content":
		return tool.Result{Content: []tool.Block{{Type: tool.ImageBlock, MediaType: "image/png", Data: pixel}}}, nil
	case "test_error_handling":
		return tool.Failure("This tool intentionally returns an error for testing"), nil
	case "test_tool_with_progress":
		for _, done := range []float64{0, 50, 100} {
			c.Progress(tool.MCPProgress{Progress: done, Total: 100, Message: "working"})
		}
	}
	return tool.Text("This is a simple text response for testing."), nil
}

// piped are the tools that go through the pipeline.
var piped = []string{"test_simple_text", "test_image_content", "test_error_handling", "test_tool_with_progress"}

// anything is the schema of a tool that takes what comes.
var anything = json.RawMessage(`{"type":"object"}`)

func say(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
