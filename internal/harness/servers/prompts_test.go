package servers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/world/mcp"
)

// oneServer has one prompt, which says what it was given.
type oneServer struct{}

func (oneServer) Prompts() []mcp.Prompt {
	return []mcp.Prompt{{Command: "mcp__git__review", Description: "Reviews", Arguments: []mcp.PromptArg{{Name: "pr", Required: true}, {Name: "focus"}}}}
}

func (oneServer) GetPrompt(_ context.Context, command string, args map[string]string) ([]mcp.PromptMessage, error) {
	if args["pr"] == "" {
		return nil, errors.New("the prompt needs the argument pr")
	}
	return []mcp.PromptMessage{
		{Role: "user", Content: fmt.Appendf(nil, `{"type":"text","text":"%s %s, %s"}`, command, args["pr"], args["focus"])},
		{Role: "assistant", Content: []byte(`{"type":"text","text":"Fine."}`)},
		{Role: "user", Content: []byte(`{"type":"image","data":""}`)},
	}, nil
}

func TestPromptsOfServersAreCommands(t *testing.T) {
	set := command.New(command.Options{Prompts: func() []command.Prompt { return commandsOf(oneServer{}) }})
	c, err := set.Find("mcp__git__review")
	if err != nil {
		t.Fatal(err)
	}
	if c.Hint != "pr [focus]" || c.Description != "Reviews" || c.Origin != command.MCP {
		t.Errorf("command %+v", c)
	}
	got, err := c.Prompt(t.Context(), prompt.Use{Arguments: "12 error handling"}, nil)
	want := "mcp__git__review 12, error handling\n\nThe assistant would answer:\nFine.\n\n[A block of type \"image\" was left out: a command can contain only text.]"
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := c.Prompt(t.Context(), prompt.Use{}, nil); err == nil {
		t.Error("an argument that is needed was not missed")
	}
}
