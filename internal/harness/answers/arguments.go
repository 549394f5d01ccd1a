package answers

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/models/catalog"
)

// Arguments are how the argument of a command may continue that is being typed, after the
// words before it. Those of an MCP server's prompt come from the server.
func Arguments(ctx context.Context, c *harness.Conversation, name string, words []string, typed string) []string {
	if strings.HasPrefix(name, "mcp__") {
		return c.MCP.CompletePrompt(ctx, name, words, typed)
	}
	if name == "add-dir" && len(words) == 0 {
		return folders(c.Dir(), typed)
	}
	var fitting []string
	for _, a := range arguments(c, name, words) {
		if strings.HasPrefix(a, typed) {
			fitting = append(fitting, a)
		}
	}
	return fitting
}

// arguments are all that a command of haft's own takes after some words.
func arguments(c *harness.Conversation, name string, words []string) (all []string) {
	first := ""
	if len(words) > 0 {
		first = words[0]
	}
	switch {
	case name == "permissions" && len(words) == 0:
		for _, m := range permission.Modes() {
			all = append(all, string(m))
		}
		return append(all, "add", "remove")
	case name == "permissions" && first == "add" && len(words) == 1:
		return []string{"allow", "ask", "deny"}
	case name == "permissions" && first == "remove" && len(words) == 1:
		for _, r := range c.Rules() {
			all = append(all, r.Text)
		}
		return all
	case name == "mcp" && len(words) == 0:
		return []string{"reconnect", "enable", "disable"}
	case name == "mcp" && len(words) == 1:
		for _, s := range c.MCP.Status() {
			all = append(all, s.Name)
		}
		return all
	case name == "memory" && len(words) == 0:
		return []string{"add"}
	case name == "memory" && len(words) == 1:
		return []string{"project", "local", "user"}
	case name == "model" && len(words) == 0:
		return append([]string{"opus", "sonnet", "haiku", "default"}, catalog.Names()...)
	case name == "output-style" && len(words) == 0:
		for _, st := range c.World.Project.Library.Styles.List().Styles {
			all = append(all, st.Name)
		}
		return all
	case name == "export" && len(words) == 0:
		return []string{"clipboard"}
	case name == "config":
		return configArguments(c, words)
	}
	return nil
}

func configArguments(c *harness.Conversation, words []string) (all []string) {
	for _, s := range Settings(c) {
		switch {
		case len(words) == 0 || len(words) == 1 && words[0] == "unset":
			all = append(all, s.Key)
		case len(words) == 1 && s.Key == words[0]:
			return s.OneOf
		}
	}
	if len(words) == 0 {
		all = append(all, "unset")
	}
	if len(words) == 2 {
		return []string{"local", "project", "user"}
	}
	return all
}

// folders are those that a path may continue with; hidden ones after a dot.
func folders(dir, typed string) (found []string) {
	parent, base := typed[:strings.LastIndexByte(typed, '/')+1], typed[strings.LastIndexByte(typed, '/')+1:]
	look := parent
	if !filepath.IsAbs(look) {
		look = filepath.Join(dir, look)
	}
	entries, err := os.ReadDir(look)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), base) && (base != "" || !strings.HasPrefix(e.Name(), ".")) {
			found = append(found, parent+e.Name()+"/")
		}
	}
	return found
}
