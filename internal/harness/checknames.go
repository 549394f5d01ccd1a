package harness

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
)

// elsewhere are tools of Claude Code that haft has none like. Rules about them are
// in files that both read; they have nothing to guard here.
var elsewhere = []string{
	"AgentOutputTool", "Config", "CronCreate", "CronDelete", "CronList", "LSP", "Monitor", "PowerShell", "PushNotification", "RemoteTrigger",
	"ScheduleWakeup", "SendUserFile", "SendUserMessage", "StructuredOutput", "TodoRead", "WaitForMcpServers", "Workflow",
}

// misnamed are the rules about tools that do not exist.
func (w *World) misnamed(lead *agentdef.Definition) []permission.RuleProblem {
	opts, err := w.Project.Policy()
	rules := append(opts.Rules, project.Denials(lead)...)
	if err != nil || len(rules) == 0 {
		return nil
	}
	names := w.toolNames()
	var problems []permission.RuleProblem
	for _, r := range rules {
		if err := misnamed(r, names); err != nil {
			problems = append(problems, permission.RuleProblem{Rule: r, Err: err})
		}
	}
	return problems
}

// idleHooks says which matchers of hooks for calls mean a tool that does not exist.
func (w *World) idleHooks() (texts []string) {
	hooks := w.Project.Counts.Hooks()
	if len(hooks) == 0 {
		return nil
	}
	names, before := w.toolNames(), settings.Hook{}
	for _, h := range hooks {
		again := h.Event == before.Event && h.Matcher == before.Matcher && h.If == before.If // as in one group
		if before = h; again || !slices.Contains(aboutCalls, h.Event) {
			continue
		}
		for _, text := range append(hook.Unmatched(h.Matcher, names), hook.Unmatched(h.If, names)...) {
			name, _, _ := strings.Cut(text, "(")
			if strings.Contains(text, "mcp") || slices.Contains(elsewhere, name) { // those of servers are not there yet
				continue
			}
			texts = append(texts, fmt.Sprintf("%s: the matcher %q of the %s hook means no tool.%s", h.Origin, text, h.Event, near.Hint(name, names)))
		}
	}
	return texts
}

// aboutCalls are the events whose matchers are about tools.
var aboutCalls = []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"}

// CheckName reports that no tool has the name that a rule is about. The rule may be
// kept all the same: what it names may come.
func (w *World) CheckName(r permission.Rule) error { return misnamed(r, w.toolNames()) }

// toolNames are the names that rules may be about.
func (w *World) toolNames() []string {
	var names []string
	for _, t := range w.builtins.Tools() {
		names = append(append(names, t.Name), t.Aliases...)
	}
	return names
}

func misnamed(r permission.Rule, names []string) error {
	name := r.Tool()
	if name == "" || strings.HasPrefix(name, "mcp__") || slices.Contains(names, name) || slices.Contains(elsewhere, name) {
		return nil
	}
	matches := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	}
	if slices.ContainsFunc(names, func(n string) bool { return matches(name, n) }) || strings.HasPrefix(name, "mcp") && strings.ContainsAny(name, "*?[") {
		return nil
	}
	return fmt.Errorf("there is no tool named %s.%s", name, near.Hint(name, names))
}
