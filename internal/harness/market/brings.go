package market

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/plugin"
)

// Brings is what a plugin adds.
type Brings struct {
	Skills   []string  `json:"skills,omitempty"`
	Commands []string  `json:"commands,omitempty"`
	Agents   []string  `json:"agents,omitempty"`
	Styles   []string  `json:"output_styles,omitempty"`
	Hooks    []Program `json:"hooks,omitempty"`
	Servers  []Program `json:"mcp_servers,omitempty"`
}

// A Program is what a hook, an MCP server or a language server runs or connects to.
type Program struct {
	Name string `json:"name"`
	Runs string `json:"runs"`
}

// programs are what runs without a model having called it.
func (b Brings) programs() []Program { return slices.Concat(b.Hooks, b.Servers) }

func (b Brings) empty() bool {
	return len(b.Skills)+len(b.Commands)+len(b.Agents)+len(b.Styles)+len(b.programs()) == 0
}

// brings reads what a plugin adds, as it will be in the folder target.
func brings(p plugin.Plugin, target string) (b Brings, problems []knowledge.Problem) {
	set := settings.Of(p.Settings...)
	there := func(text string) string { return strings.ReplaceAll(text, p.Dir, target) }
	hooks := func(of string, set *settings.Settings) {
		for _, h := range set.Hooks() {
			b.Hooks = append(b.Hooks, Program{Name: strings.TrimSpace(h.Event+" "+h.Matcher) + of, Runs: there(hookLine(&h))})
		}
	}
	hooks("", set)
	for _, part := range []struct {
		kind knowledge.Kind
		list *[]string
	}{{knowledge.Skill, &b.Skills}, {knowledge.Command, &b.Commands}, {knowledge.Agent, &b.Agents}, {knowledge.Style, &b.Styles}} {
		found := knowledge.NewLibrary(part.kind, []knowledge.Place{p.Place}, func(knowledge.Claim) bool { return true }).List()
		for _, piece := range found.Pieces {
			*part.list = append(*part.list, piece.Name)
			file, err := piece.Hooks()
			if part.kind == knowledge.Agent || file == nil || err != nil {
				continue // those of a plugin's agent do not run; a piece with an error is not listed
			}
			hooks(fmt.Sprintf(" of the %s %s", part.kind, piece.Name), settings.Of(file))
		}
		problems = append(problems, found.Problems...)
	}
	for _, s := range set.MCPServers() {
		b.Servers = append(b.Servers, Program{Name: s.Name, Runs: there(serverLine(s.JSON))})
	}
	for _, s := range set.LanguageServers() {
		b.Servers = append(b.Servers, Program{Name: s.Name, Runs: there(serverLine(s.JSON))})
	}
	for i := range problems {
		problems[i].Path = there(problems[i].Path)
	}
	return b, problems
}

// hookLine is what a hook runs or connects to, and with what.
func hookLine(h *settings.Hook) string {
	runs := strings.TrimSpace(h.Line() + " " + h.URL + " " + h.Prompt)
	if len(h.Headers)+len(h.Env) > 0 {
		runs += fmt.Sprintf(" with %v %v", h.Headers, h.Env)
	}
	return runs
}

// serverLine is what a server runs or connects to, and whatever else its entry says: a
// variable or a helper can run programs too.
func serverLine(entry json.RawMessage) string {
	var server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		URL     string   `json:"url"`
	}
	var rest map[string]json.RawMessage
	if json.Unmarshal(entry, &server) != nil || json.Unmarshal(entry, &rest) != nil {
		return string(entry)
	}
	line := strings.TrimSpace(strings.Join(append([]string{server.Command}, server.Args...), " ") + " " + server.URL)
	for _, shown := range []string{"command", "args", "url", "type"} {
		delete(rest, shown)
	}
	if text, err := json.Marshal(rest); err == nil && len(rest) > 0 {
		line += " with " + string(text)
	}
	return line
}
