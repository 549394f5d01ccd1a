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
)

// claudeFile is the name of the file in which Claude Code stores a user's servers: those
// for every project and, by folder, those for one.
const claudeFile = ".claude.json"

// imported are the servers in another tool's file. Those for the project in dir take
// precedence over those for all projects.
func imported(path, dir string) ([]config.Entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("could not import MCP servers: %w", err)}
	}
	entries, err := config.Import(path, data)
	if err != nil || filepath.Base(path) != claudeFile {
		return entries, err
	}
	local, err := config.ImportLocal(path, data, dir)
	if err != nil {
		return nil, err
	}
	return append(local, slices.DeleteFunc(entries, func(e config.Entry) bool {
		return slices.ContainsFunc(local, func(l config.Entry) bool { return l.Name == e.Name })
	})...), nil
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
	for _, e := range entries {
		if !slices.ContainsFunc(m.List, func(s mcp.Server) bool { return s.Name == e.Name }) {
			names = append(names, e.Name)
		}
	}
	word, err := syntax.Quote(path, syntax.LangBash)
	if err == nil && len(names) > 0 {
		fmt.Fprintf(f.Err, "Claude Code has MCP servers that are not set up here: %s. To set them up, run: haft mcp import %s\n", visible.Indented(strings.Join(names, ", ")), visible.Indented(word))
	}
}
