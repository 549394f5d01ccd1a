package tui

import (
	"context"
	"errors"
	"testing"

	"github.com/haftdev/haft/internal/world/mcp"
)

func TestServersAreAMenu(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/mcp\r")
		b.ran("mcp") // there is none, which the answer says
		b.talk.servers = []mcp.Status{
			{Name: "hub", State: mcp.Connected, Type: "stdio", Tools: []mcp.ToolStatus{{Name: "find", Offered: "mcp__hub__find"}, {Name: "drop", Disabled: "denied by a rule"}}, Stderr: []string{"ready"}},
			{Name: "remote", State: mcp.NeedsAuth, Type: "http", Config: mcp.Server{URL: "https://example.com/mcp"}},
			{Name: "old", State: mcp.Disabled, Type: "stdio"},
		}
		b.type_("/mcp\r")
		b.sees("▸ hub     connected · 2 tools", "remote  needs a login", "old     disabled")
		b.type_("\r")
		b.sees("? MCP server hub", "▸ 1 Show its tools", "2 Connect again", "3 Disable it for this session")
		b.type_("\r")
		b.sees("mcp__hub__find", "drop (not offered: denied by a rule)", "Standard error:\nready")
		b.type_("q/mcp\r\r2\r")
		b.ran("mcp reconnect hub")
		b.type_("/mcp\r\r3\r")
		b.ran("mcp disable hub")
		b.type_("/mcp\rold\r2\r")
		b.ran("mcp enable old")
	})
}

func TestAServerIsLoggedInTo(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.servers = []mcp.Status{{Name: "remote", State: mcp.NeedsAuth, Type: "http", Config: mcp.Server{URL: "https://example.com/mcp"}}}
		fails := errors.New("the server refuses")
		b.app.later(func() {
			b.app.opts.Login = func(_ context.Context, server string, show func(string)) error {
				show("https://login.example.com/" + server)
				return fails
			}
		})
		b.type_("/mcp\r\r2\r")
		b.sees("Log in at this page:", "https://login.example.com/remote", "Could not log in to remote: the server refuses")
		fails = nil
		b.type_("/mcp\r\r2\r")
		b.ran("mcp reconnect remote")
	})
}
