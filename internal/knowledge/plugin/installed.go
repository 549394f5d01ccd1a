package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/shelf"
)

// registry is where Claude Code keeps what it has installed.
const registry = "plugins/installed_plugins.json"

// An installation is one that the registry knows. A plugin may have several, for
// the user and for projects.
type installation struct {
	Scope   string `json:"scope"`
	Project string `json:"projectPath"`
	Path    string `json:"installPath"`
}

// Installed returns the plugins that Claude Code has installed for a user, or
// for the project by them, and that are enabled; names are those of the registry,
// such as review@market. Shared is the folder that Claude Code keeps its own things in.
func Installed(shared, project string, enabled func(name string) bool) ([]Dir, []knowledge.Problem) {
	if shared == "" {
		return nil, nil
	}
	file, err := shelf.Open(shared).Read(registry, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	path := filepath.Join(shared, filepath.FromSlash(registry))
	var known struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(file.Text), &known)
	}
	if err != nil {
		return nil, []knowledge.Problem{{Path: path, Text: fmt.Sprintf("could not read the list of plugins: %v", err)}}
	}
	var dirs []Dir
	var problems []knowledge.Problem
	for _, name := range slices.Sorted(maps.Keys(known.Plugins)) {
		if !enabled(name) {
			continue
		}
		dir, ok := choose(known.Plugins[name], project)
		if !ok {
			continue // it is another project's
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			problems = append(problems, knowledge.Problem{Path: path, Text: fmt.Sprintf("the plugin %s is no longer in %q, where it was installed: install it again", name, dir)})
			continue
		}
		dirs = append(dirs, Dir{Path: dir, Source: settings.User, ID: name, Entry: entryOf(shared, name)})
	}
	return dirs, problems
}

// entryOf is what the marketplace of an installed plugin says about it, where Claude Code
// keeps its marketplaces; nil if that is not known. name is that of the registry.
func entryOf(shared, name string) json.RawMessage {
	plugin, market, ok := strings.Cut(name, "@")
	if !ok || !knowledge.ValidName(market) {
		return nil
	}
	file, err := shelf.Open(shared).Read("plugins/marketplaces/"+market+"/.claude-plugin/marketplace.json", maxFile)
	var catalog struct {
		Plugins []json.RawMessage `json:"plugins"`
	}
	if err != nil || json.Unmarshal([]byte(file.Text), &catalog) != nil {
		return nil
	}
	for _, entry := range catalog.Plugins {
		var said struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(entry, &said) == nil && said.Name == plugin {
			return entry
		}
	}
	return nil
}

// choose returns the folder of the installation that counts here: that for the
// project, else that for the user. Older registries hold one and not a list.
func choose(raw json.RawMessage, project string) (dir string, ok bool) {
	var list []installation
	if json.Unmarshal(raw, &list) != nil {
		var one installation
		if json.Unmarshal(raw, &one) != nil {
			return "", false
		}
		list = []installation{one}
	}
	for _, i := range list {
		if i.Project != "" && i.Project == project {
			return i.Path, true
		}
	}
	for _, i := range list {
		if i.Project == "" && (i.Scope == "" || i.Scope == "user" || i.Scope == "managed") {
			return i.Path, true
		}
	}
	return "", false
}
