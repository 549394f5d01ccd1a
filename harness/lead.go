package harness

import (
	"cmp"
	"fmt"
	"slices"

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
	d, err := p.Library.Agents.Find(name)
	if err != nil {
		err = fmt.Errorf("let the agent %q lead: %w", name, err)
		if p.opts.Agent != "" {
			return &UsageError{err}
		}
		return err
	}
	p.lead = &d
	p.opts.Disallowed = slices.Concat(p.opts.Disallowed, d.Denied)
	return nil
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
