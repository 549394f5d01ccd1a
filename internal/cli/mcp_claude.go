package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/mcp/config"
	"github.com/haftdev/haft/settings"
)

// claudeFile is the name of the file in which Claude Code stores a user's servers: those
// for every project and, by folder, those for one.
const claudeFile = ".claude.json"

// imported are the servers in another tool's file. Those that Claude Code has for the
// project in dir come first; those that it has for all projects have the scope user.
func imported(path, dir string) ([]config.Entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("could not import MCP servers: %w", err)}
	}
	entries, err := config.Import(path, data)
	if err != nil || filepath.Base(path) != claudeFile {
		return entries, err
	}
	for i := range entries {
		entries[i].Scope = settings.User.String()
	}
	local, err := config.ImportLocal(path, data, dir)
	return append(local, entries...), err
}

// firstOfEach leaves out entries whose names occur before.
func firstOfEach(entries []config.Entry) []config.Entry {
	seen := map[string]bool{}
	return slices.DeleteFunc(entries, func(e config.Entry) bool {
		double := seen[e.Name]
		seen[e.Name] = true
		return double
	})
}

// offerClaude lists servers of Claude Code that are not set up here, and says how to import
// them.
func (f *mcpFlags) offerClaude(m *mcpServers) {
	path := filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), m.Project.Home), claudeFile)
	entries, err := imported(path, m.Project.Dir)
	if err != nil {
		return // there is none, or its owner has to fix it
	}
	var names []string
	for _, e := range firstOfEach(entries) {
		if !slices.ContainsFunc(m.List, func(s mcp.Server) bool { return s.Name == e.Name }) {
			names = append(names, e.Name)
		}
	}
	word, err := syntax.Quote(path, syntax.LangBash)
	if err == nil && len(names) > 0 {
		fmt.Fprintf(f.Err, "Claude Code has MCP servers that are not set up here: %s. To set them up, run: haft mcp import %s\n", visible.Indented(strings.Join(names, ", ")), visible.Indented(word))
	}
}
