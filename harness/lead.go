package harness

import (
	"cmp"
	"fmt"
	"slices"
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
	d, err := p.Library.Agents.Find(name)
	if err != nil {
		return fmt.Errorf("let the agent %q lead: %w", name, err)
	}
	p.lead = &d
	if p.opts.Tools == nil {
		p.opts.Tools = d.Tools
	}
	p.opts.Disallowed = slices.Concat(p.opts.Disallowed, d.Denied)
	return nil
}

// follow begins a conversation as the agent that leads it, if one does.
func (p *Project) follow(o *TalkOptions) {
	if p.lead == nil {
		return
	}
	o.System = []string{p.lead.Prompt}
	o.Effort = cmp.Or(o.Effort, p.lead.Effort)
	if o.Model == "" && p.lead.Model != "inherit" {
		o.Model = p.lead.Model
	}
}
