package market

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/knowledge"
)

const (
	catalogName  = ".claude-plugin/marketplace.json"
	manifestName = ".claude-plugin/plugin.json"
	maxCatalog   = 4 << 20
	maxEntries   = 5000
)

// A catalog is marketplace.json.
type catalog struct {
	Name     string `json:"name"`
	Metadata struct {
		PluginRoot string `json:"pluginRoot"`
	} `json:"metadata"`
	Plugins []json.RawMessage `json:"plugins"`

	entries []entry
}

// An entry is a plugin that a marketplace offers.
type entry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Version     string          `json:"version"`
	Source      json.RawMessage `json:"source"`

	raw json.RawMessage
}

// check refuses names that cannot be those of folders or be shown.
func (c *catalog) check() error {
	if !knowledge.ValidName(c.Name) {
		return fmt.Errorf("%s: %q is not a valid marketplace name; use letters, digits, dashes and underscores", catalogName, c.Name)
	}
	if len(c.Plugins) > maxEntries {
		return fmt.Errorf("%s: it lists more than %d plugins", catalogName, maxEntries)
	}
	seen := map[string]bool{}
	for i, raw := range c.Plugins {
		e := entry{raw: raw}
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("%s: plugin %d: %w", catalogName, i+1, err)
		}
		if !knowledge.ValidName(e.Name) {
			return fmt.Errorf("%s: %q is not a valid plugin name; use letters, digits, dashes and underscores", catalogName, e.Name)
		}
		if seen[e.Name] {
			return fmt.Errorf("%s: it lists the plugin %s twice", catalogName, e.Name)
		}
		seen[e.Name] = true
		c.entries = append(c.entries, e)
	}
	return nil
}

// A source is where the folder of a plugin is: in the marketplace, in a repository, or in a
// package of npm.
type source struct {
	dir        string // "." means all of it
	repository *repository
	npm        *npmPackage
}

// source reads where a plugin is from.
func (c *catalog) source(e entry) (source, error) {
	var dir string
	if json.Unmarshal(e.Source, &dir) == nil {
		inside, err := local(dir)
		if err == nil && !strings.HasPrefix(dir, "./") && dir != "." {
			inside, err = local(path.Join(c.Metadata.PluginRoot, inside))
		}
		return source{dir: inside}, err
	}
	var o struct {
		Kind string `json:"source"`
		Repo string `json:"repo"`
		Path string `json:"path"`
		repository
		npmPackage
	}
	if err := json.Unmarshal(e.Source, &o); err != nil || o.Kind == "" {
		return source{}, errors.New("the marketplace does not say where it is from")
	}
	r := o.repository
	var err error
	switch o.Kind {
	case "github":
		r.URL, err = github(o.Repo)
	case "url", "git", "git-subdir":
	case "npm":
		return source{dir: ".", npm: &o.npmPackage}, o.npmPackage.check()
	default:
		return source{}, fmt.Errorf("haft cannot install from its source %q: only folders in the marketplace, git repositories and npm packages are supported", o.Kind)
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return source{}, err
	}
	inside := "."
	if o.Path != "" {
		inside, err = local(o.Path)
	}
	return source{dir: inside, repository: &r}, err
}

// local returns a path that stays inside of the folder it begins in.
func local(dir string) (string, error) {
	clean := path.Clean(dir)
	if dir == "" || strings.Contains(dir, `\`) || !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", fmt.Errorf("its folder %q leads out of the marketplace", dir)
	}
	return clean, nil
}
