package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/tools/builtin"
)

// misnamed are the rules about tools that do not exist.
func (w *World) misnamed(lead *agentdef.Definition) []permission.RuleProblem {
	opts, err := w.Project.Policy()
	rules := append(opts.Rules, project.Denials(lead)...)
	if err != nil || len(rules) == 0 {
		return nil
	}
	var problems []permission.RuleProblem
	for _, r := range rules {
		if err := project.Misnamed(r); err != nil {
			problems = append(problems, permission.RuleProblem{Rule: r, Err: err})
		}
	}
	return problems
}

// idleHooks says which matchers of hooks for calls name a tool that does not exist.
func (w *World) idleHooks() (texts []string) {
	hooks := w.Project.Counts.Hooks()
	if len(hooks) == 0 {
		return nil
	}
	names, before := builtin.Names(), settings.Hook{}
	for _, h := range hooks {
		again := h.Event == before.Event && h.Matcher == before.Matcher && h.If == before.If // as in one group
		if before = h; again || !slices.Contains(aboutCalls, h.Event) {
			continue
		}
		for _, text := range append(hook.Unmatched(h.Matcher, names), hook.Unmatched(h.If, names)...) {
			name, _, _ := strings.Cut(text, "(")
			if strings.Contains(text, "mcp") || project.Elsewhere(name) { // those of servers are not known yet
				continue
			}
			texts = append(texts, fmt.Sprintf("%s: the matcher %q of the %s hook matches no tool.%s", h.Origin, text, h.Event, near.Hint(name, names)))
		}
	}
	return texts
}

// aboutCalls are the events whose matchers are about tools.
var aboutCalls = []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"}
