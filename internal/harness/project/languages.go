package project

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/world/lsp"
)

// LanguageServers are those that the settings add. A project cannot name programs here:
// see package trust.
func (p *Project) LanguageServers() ([]lsp.Definition, error) {
	var defs []lsp.Definition
	if p.Options.Safe {
		return nil, nil
	}
	for _, n := range p.Counts.LanguageServers() {
		var set struct {
			Command   string            `json:"command"`
			Args      []string          `json:"args"`
			Languages map[string]string `json:"extensionToLanguage"`
			Env       map[string]string `json:"env"`
			Options   json.RawMessage   `json:"initializationOptions"`
			Settings  json.RawMessage   `json:"settings"`
			Startup   int64             `json:"startupTimeout"`
		}
		if err := json.Unmarshal(n.JSON, &set); err != nil {
			return nil, fmt.Errorf("%s: the language server %s: %w", n.Origin, n.Name, err)
		}
		if set.Command == "" || len(set.Languages) == 0 {
			return nil, fmt.Errorf(`%s: the language server %s needs a command and extensionToLanguage, such as {".lua": "lua"}`, n.Origin, n.Name)
		}
		d := lsp.Definition{
			Name: n.Name, Programs: []string{set.Command}, Args: set.Args, Languages: map[string]string{}, Install: "the instructions of " + set.Command,
			Options: set.Options, Settings: set.Settings, Startup: time.Duration(set.Startup) * time.Millisecond,
		}
		for ending, language := range set.Languages {
			d.Languages["."+strings.ToLower(strings.TrimPrefix(ending, "."))] = language
		}
		for name, value := range set.Env {
			d.Env = append(d.Env, name+"="+value)
		}
		slices.Sort(d.Env)
		defs = append(defs, d)
	}
	return defs, nil
}
