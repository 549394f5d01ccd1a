package project

import (
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/tool"
)

// Denials are the rules by which an agent that leads is denied what its definition
// says; nil of haft itself.
func Denials(d *agentdef.Definition) (rules []permission.Rule) {
	if d == nil {
		return nil
	}
	for _, text := range d.Denied {
		rules = append(rules, permission.Rule{Text: text, Behavior: tool.Deny, Origin: CommandLine})
	}
	return rules
}
