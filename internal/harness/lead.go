package harness

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/session"
)

// resumeLead returns the main agent of a session: the one that it had, unless the user
// names one now. If that agent no longer exists, the session would have tools that it was
// not meant to have, so the user must choose one. Programs provide their own agents and are
// only warned.
func (w *World) resumeLead(left string) (*agentdef.Definition, error) {
	if left == "" || w.Project.Options.Agent != "" || w.lead != nil && w.lead.Name == left {
		return w.lead, nil
	}
	d, err := w.Project.Leader(left)
	switch {
	case err != nil && w.Project.Options.Typed:
		return nil, &project.UsageError{Err: fmt.Errorf("cannot resume with the agent %q: %s. Choose another one with --agent, such as --agent general-purpose", left, strings.TrimSuffix(err.Error(), "."))}
	case err != nil:
		w.link.Warn("agents", fmt.Sprintf("The session continues without its main agent %s: %s", left, err))
		return w.lead, nil
	}
	w.removeLeadRules()
	w.Engine.AddTemporary(project.Denials(d)...)
	w.link.Tell(fmt.Sprintf("The session continues with %s as its main agent.", left))
	return d, nil
}

// follow starts a conversation with its main agent, if it has one. A session that this
// agent already ran continues with the model that it had.
func follow(lead *agentdef.Definition, o *TalkOptions, left *session.Restored) {
	if lead == nil {
		return
	}
	o.System = []string{lead.Prompt}
	o.Effort = cmp.Or(o.Effort, lead.Effort)
	again := state[string](left, stateLead) == lead.Name && state[string](left, agent.StateModel) != ""
	if o.Model == "" && lead.Model != "inherit" && !again {
		o.Model = lead.Model
	}
}
