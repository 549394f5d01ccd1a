package project

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/tools/builtin"
)

// elsewhere are tools of Claude Code that haft has none like. Rules about them are
// in files that both read; they have nothing to guard here.
var elsewhere = []string{
	"AgentOutputTool", "Config", "CronCreate", "CronDelete", "CronList", "LSP", "PowerShell", "PushNotification", "RemoteTrigger",
	"ScheduleWakeup", "SendUserFile", "SendUserMessage", "StructuredOutput", "TodoRead", "WaitForMcpServers", "Workflow",
}

// Elsewhere reports whether a name is that of a tool of Claude Code that haft has none like.
func Elsewhere(name string) bool { return slices.Contains(elsewhere, name) }

// Misnamed reports that a rule is about a tool that cannot exist: none of haft's, none
// of Claude Code's, and none that a server might bring.
func Misnamed(r permission.Rule) error {
	names := builtin.Names()
	name := r.Tool()
	if name == "" || strings.HasPrefix(name, "mcp__") || slices.Contains(names, name) || Elsewhere(name) {
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
