package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp"
)

// A promptHost has prompts of MCP servers; *[mcp.Host] is one.
type promptHost interface {
	Prompts() []mcp.Prompt
	GetPrompt(ctx context.Context, command string, args map[string]string) ([]mcp.PromptMessage, error)
}

func promptHint(args []mcp.PromptArg) string {
	var hints []string
	for _, a := range args {
		hint := "[" + a.Name + "]"
		if a.Required {
			hint = a.Name
		}
		hints = append(hints, hint)
	}
	return strings.Join(hints, " ")
}

func promptArguments(args []mcp.PromptArg, words []string) map[string]string {
	named := map[string]string{}
	for i, a := range args {
		switch {
		case i >= len(words):
		case i == len(args)-1:
			named[a.Name] = strings.Join(words[i:], " ")
		default:
			named[a.Name] = words[i]
		}
	}
	return named
}

// promptText is the text of the messages. What the server says in the model's name
// is marked: it was not the model who said it.
func promptText(messages []mcp.PromptMessage) string {
	var texts []string
	for _, m := range messages {
		var block struct{ Type, Text string }
		if err := json.Unmarshal(m.Content, &block); err != nil || block.Type != "text" {
			block.Text = fmt.Sprintf("[A block of type %q was left out: a command can contain only text.]", block.Type)
		}
		if m.Role == "assistant" {
			block.Text = "The assistant would answer:\n" + block.Text
		}
		texts = append(texts, block.Text)
	}
	return strings.Join(texts, "\n\n")
}
