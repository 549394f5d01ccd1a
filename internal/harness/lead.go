package harness

import (
	"cmp"
	"fmt"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/builtin"
)

// findLead finds the agent that leads conversations here, by the options or by the
// setting "agent": its prompt, tools and model take the place of haft's own. Tools
// that were named when haft was started stay.
func (p *Project) findLead() error {
	name := p.opts.Agent
	if set, ok := p.Counts.Text("agent"); ok && name == "" {
		name = set.Text
	}
	if name == "" {
		return nil
	}
	d, err := p.leader(name)
	if err != nil && p.opts.Agent != "" {
		return &UsageError{err}
	}
	p.lead = d
	return err
}

// leader is the agent of a name, fit to lead.
func (p *Project) leader(name string) (*agentdef.Definition, error) {
	d, err := p.Library.Agents.Find(name)
	if err != nil {
		return nil, fmt.Errorf("let the agent %q lead: %w", name, err)
	}
	for _, r := range denials(&d) {
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("let the agent %q lead: what it is denied, %q, cannot be understood: %w", name, r.Text, err)
		}
	}
	return &d, nil
}

// denials are the rules by which an agent that leads is denied what its definition
// says; nil of haft itself.
func denials(d *agentdef.Definition) (rules []permission.Rule) {
	if d == nil {
		return nil
	}
	for _, text := range d.Denied {
		rules = append(rules, permission.Rule{Text: text, Behavior: tool.Deny, Origin: commandLine})
	}
	return rules
}

// only are the tools of the pool; nil means all.
func (p *Project) only() []string {
	switch {
	case p.opts.Bare:
		return builtin.Bare()
	case p.opts.Tools == nil && p.lead != nil:
		return p.lead.Tools
	}
	return p.opts.Tools
}

// resumeLead lets the agent that led the session when it was left lead it again,
// unless somebody has named one now. Without it the session would have tools that it
// was not meant to have: a person is to say who leads it then. Programs bring agents
// of their own and are only warned.
func (w *World) resumeLead(left string) error {
	if left == "" || w.opts.Agent != "" || w.lead != nil && w.lead.Name == left {
		return nil
	}
	d, err := w.leader(left)
	switch {
	case err != nil && w.opts.Typed:
		return &UsageError{fmt.Errorf("the session cannot go on as it was left; name who is to lead it, such as --agent general-purpose: %w", err)}
	case err != nil:
		w.warn("agents", fmt.Sprintf("The session goes on without the agent that led it: %s", err))
		return nil
	}
	w.removeLeadRules()
	w.lead, w.removeLeadRules = d, w.Engine.AddTemporary(denials(d)...)
	w.tellAll(fmt.Sprintf("The agent %s leads the session, as it was left.", left))
	return nil
}

// follow begins a conversation as the agent that leads it, if one does. A session
// that it has led goes on with the model that it was left with.
func (p *Project) follow(o *TalkOptions, left *session.Restored) {
	if p.lead == nil {
		return
	}
	o.System = []string{p.lead.Prompt}
	o.Effort = cmp.Or(o.Effort, p.lead.Effort)
	again := state[string](left, stateLead) == p.lead.Name && state[string](left, agent.StateModel) != ""
	if o.Model == "" && p.lead.Model != "inherit" && !again {
		o.Model = p.lead.Model
	}
}

// leads is the name of the agent that leads; "" means haft itself.
func (p *Project) leads() string {
	if p.lead == nil {
		return ""
	}
	return p.lead.Name
}
