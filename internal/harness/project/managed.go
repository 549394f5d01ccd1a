package project

import (
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/internal/config/settings"
)

// restricting are the settings that can only make a session more careful, by their
// paths.
var restricting = [][]string{
	{"permissions", "deny"}, {"permissions", "ask"}, {"permissions", "disableBypassPermissionsMode"}, {"permissions", "disableAutoMode"},
	{"disableAllHooks"}, {"allowManagedHooksOnly"}, {"allowManagedPermissionRulesOnly"}, {"allowManagedMcpServersOnly"},
	{"deniedMcpServers"}, {"allowedMcpServers"}, {"availableModels"},
}

// impose adds settings of whoever drives the session, as an administrator's. They
// do not count beside those of a real one.
func (p *Project) impose(text string) error {
	if text == "" {
		return nil
	}
	for _, f := range p.Settings.Files() {
		if f.Source == settings.Managed {
			return nil
		}
	}
	whole, err := settings.Parse(settings.Managed, "", []byte(text))
	if err != nil {
		return fmt.Errorf("--managed-settings: %w", err)
	}
	kept := make(map[string]any)
	for _, path := range restricting {
		value, ok := whole.Value(path...)
		if !ok {
			continue
		}
		at := kept
		for _, key := range path[:len(path)-1] {
			inner, ok := at[key].(map[string]any)
			if !ok {
				inner = make(map[string]any)
				at[key] = inner
			}
			at = inner
		}
		at[path[len(path)-1]] = value.JSON
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	f, err := settings.Parse(settings.Managed, "", raw)
	if err == nil {
		p.Settings = p.Settings.With(f)
	}
	return err
}
