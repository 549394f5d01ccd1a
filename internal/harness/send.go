package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/knowledge/mention"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// Send sends a message to the agent; see [agent.Agent.Send]. If it mentions a resource of
// an MCP server as @server:uri, the model is told how to read it: reading is a call like
// any other, judged and limited.
func (c *Conversation) Send(p agent.Prompt) {
	said := slices.Clone(p.Content)
	if p.Origin != "" || p.Silent {
		said = nil // it is not the user's
	}
	for _, b := range said {
		if b.Type != model.Text {
			continue
		}
		for _, word := range mention.Paths(b.Text) {
			if server, uri, ok := c.MCP.Mentioned(word); ok {
				p.Content = append(slices.Clip(p.Content), model.TextOf(fmt.Sprintf("@%s is the resource %s of the MCP server %s: read it with ReadMcpResource.", word, uri, server)))
				p.Change = withReadMcpResource(p.Change)
			}
		}
	}
	c.Agent.Send(p)
}

// WithFiles adds the files and folders that the text of a prompt mentions, if the model may
// read them: all of them, or none with the reason.
func (c *Conversation) WithFiles(ctx context.Context, p agent.Prompt, text string) (agent.Prompt, error) {
	files, media, err := c.Input().Mentioned(ctx, text)
	if err != nil {
		return p, fmt.Errorf("could not add a file that the prompt mentions: %w", err)
	}
	p.Content = slices.Clone(p.Content)
	if files != "" {
		p.Content = append(p.Content, model.TextOf(files))
	}
	for _, b := range media {
		p.Content = append(p.Content, model.ContentOf(b))
	}
	return p, nil
}

// ReadMedia returns an image or document, if the model may read it.
func (c *Conversation) ReadMedia(ctx context.Context, path string) ([]model.Block, error) {
	input, err := json.Marshal(map[string]string{"file_path": path})
	if err != nil {
		return nil, err
	}
	r, err := c.Call(ctx, prompt.Request{Tool: "Read", Input: input, Allow: []string{"Read"}})
	var blocks []model.Block
	for _, b := range r.Content {
		blocks = append(blocks, model.ContentOf(b))
	}
	return blocks, err
}

// withReadMcpResource returns the change with the tool in view that reads resources.
func withReadMcpResource(c *tool.Change) *tool.Change {
	var change tool.Change
	if c != nil {
		change = *c
	}
	const name = "ReadMcpResource"
	if !slices.Contains(change.Reveal, name) {
		change.Reveal = append(slices.Clip(change.Reveal), name)
	}
	return &change
}
