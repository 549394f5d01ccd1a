package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/world/mcp/config"
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
