package project

import (
	"fmt"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/tool"
)

// FindLead finds the agent that leads conversations here, by the options or by the
// setting "agent": its prompt, tools and model take the place of haft's own. Tools
// that were named when haft was started stay.
func (p *Project) FindLead() (*agentdef.Definition, error) {
	name := p.Options.Agent
	if set, ok := p.Counts.Text("agent"); ok && name == "" {
		name = set.Text
	}
	if name == "" {
		return nil, nil
	}
	d, err := p.Leader(name)
	if err != nil {
		err = fmt.Errorf("could not start with the agent %q: %w", name, err)
	}
	if err != nil && p.Options.Agent != "" {
		return nil, &UsageError{err}
	}
	return d, err
}

// Leader is the agent of a name, fit to lead.
func (p *Project) Leader(name string) (*agentdef.Definition, error) {
	d, err := p.Library.Agents.Find(name)
	if err != nil {
		return nil, err
	}
	for _, r := range Denials(&d) {
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("its deny rule %q is invalid: %w", r.Text, err)
		}
	}
	return &d, nil
}

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

// Only are the tools of the pool; nil means all.
func (p *Project) Only(lead *agentdef.Definition) []string {
	switch {
	case p.Options.Bare || p.Options.Tools == nil && isSet(os.Getenv("CLAUDE_CODE_SIMPLE")):
		return builtin.Bare()
	case p.Options.Tools == nil && lead != nil:
		return lead.Tools
	}
	return p.Options.Tools
}

// Elsewhere is what models are told about the machine where their tools run; "" if that is
// this one.
func (p *Project) Elsewhere() string {
	if p.Options.ToolHost == nil {
		return ""
	}
	return p.Options.ToolHost.Facts()
}

// isSet reports whether a variable of the environment switches something on.
func isSet(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}
