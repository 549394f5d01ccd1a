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

// claudeFile is the name of the file in which Claude Code keeps the servers of a user:
// those for every project, and by their folders those for one.
const claudeFile = ".claude.json"

// imported are the servers of another tool's file. What is meant for the project in dir
// goes before what is meant for all.
func imported(path, dir string) ([]config.Entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{err}
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

// offerClaude says which servers of Claude Code are not set up here, and how they are.
func (f *mcpFlags) offerClaude(m *mcpServers) {
	path := filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), m.Project.Home), claudeFile)
	entries, err := imported(path, m.Project.Dir)
	if err != nil {
		return // there is none, or it is for its owner to put right
	}
	var names []string
	for _, e := range entries {
		if !slices.ContainsFunc(m.List, func(s mcp.Server) bool { return s.Name == e.Name }) {
			names = append(names, e.Name)
		}
	}
	word, err := syntax.Quote(path, syntax.LangBash)
	if err == nil && len(names) > 0 {
		fmt.Fprintf(f.Err, "Claude Code has MCP servers that are not set up here: %s. Set them up with: haft mcp import %s\n", visible.Indented(strings.Join(names, ", ")), visible.Indented(word))
	}
}
