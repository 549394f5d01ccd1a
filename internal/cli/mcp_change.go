package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/settings"
)

func (f *mcpFlags) remove(ctx context.Context, name, scope string) error {
	m, err := openServers(f.reexec)
	if err != nil {
		return err
	}
	s, err := m.entry(name)
	if err != nil {
		return err
	}
	elsewhere := scope != "" && scope != s.Scope
	if scope == "" {
		scope = s.Scope
	}
	source, err := settings.ParseSource(scope)
	if err != nil {
		return usageError{err}
	}
	for _, t := range m.Files(source) {
		found := false
		if err := editFile(ctx, t, dropServer(name, &found)); err != nil {
			return err
		}
		if found {
			return f.done(kept{Name: name, Scope: scope, File: t.Path}, "removed from")
		}
	}
	if elsewhere {
		return usageError{fmt.Errorf("the server %q is not in the scope %s: it is set up in %s (scope %s)", name, scope, s.Origin, s.Scope)}
	}
	return fmt.Errorf("the server %q is set up in %s, which haft does not change", name, s.Origin)
}

// dropServer removes the entry of a server, if there is one.
func dropServer(name string, found *bool) edit {
	return func(document map[string]json.RawMessage) []patchOp {
		var servers map[string]json.RawMessage
		if json.Unmarshal(document["mcpServers"], &servers) != nil || servers[name] == nil {
			return nil
		}
		*found = true
		return []patchOp{{Op: "remove", Path: pointer("mcpServers", name)}}
	}
}

func newMCPSwitch(f *mcpFlags, use, short string, off bool) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error { return f.toggle(c.Context(), args[0], off) },
	}
}

// toggle switches a server off or on.
func (f *mcpFlags) toggle(ctx context.Context, name string, off bool) error {
	m, err := openServers(f.reexec)
	if err != nil {
		return err
	}
	s, err := m.entry(name)
	if err != nil {
		return err
	}
	source, err := settings.ParseSource(s.Scope)
	if err != nil {
		return err
	}
	word := "enabled in"
	if off {
		word = "disabled in"
	}
	change, targets := switchEntry(name, off), m.Files(source)
	if source == settings.Project {
		t, err := m.Project.Target(settings.Local)
		if err != nil {
			return err
		}
		change, targets = switchProject(name, off), []settings.Target{t}
		defer project.Untracked(t.Path) // once it is there; the change takes effect anyway
	}
	if len(targets) == 0 || source == settings.Managed {
		return fmt.Errorf("the server %q is set up in %s, which haft does not change", name, s.Origin)
	}
	wasTrusted := !m.Waiting(name)
	for _, t := range targets {
		if err := editFile(ctx, t, change); err != nil {
			return err
		}
	}
	if now, err := project.Open(nil); err == nil && wasTrusted && source == settings.Local {
		if item := now.Approval(name, source); item != nil { // turning it on or off does not change what it does
			if err := now.Folder.Grant(ctx, *item); err != nil {
				return err
			}
		}
	}
	return f.done(kept{Name: name, Scope: s.Scope, File: targets[0].Path}, word)
}

// done reports what was changed.
func (f *mcpFlags) done(k kept, word string) error {
	if f.json {
		return writeJSON(f.Out, k)
	}
	_, err := fmt.Fprintf(f.Out, "%s: %s %s\n", k.Name, word, k.File)
	return err
}
