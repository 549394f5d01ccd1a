package crew

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/tools/subagent"
)

// Known is what is kept of an agent.
type Known struct {
	ID          string `json:"id"`
	Kind        string `json:"type"`
	Name        string `json:"name,omitempty"`
	Team        string `json:"team,omitempty"`
	Description string `json:"description"`
	UseID       string `json:"useId"`
	Depth       int    `json:"depth,omitempty"`
	Model       string `json:"model,omitempty"`
	Worktree    bool   `json:"worktree,omitempty"`
	Dir         string `json:"cwd,omitempty"`
	// Text is the skill or command that it does, whose rules and hooks hold for it.
	Text subagent.Text `json:"text,omitzero"`
	// Running is set while it works: one that is found so later was lost.
	Running bool            `json:"running"`
	Status  subagent.Status `json:"status,omitempty"`
	// Tokens and ToolUses are what it used so far.
	Tokens   int64 `json:"tokens,omitempty"`
	ToolUses int   `json:"toolUses,omitempty"`
	// Began is when it was started.
	Began time.Time `json:"began,omitzero"`
}

// State says in a word how the agent is: running, lost, or how its work ended.
func (k Known) State() string {
	if k.Running {
		return "running"
	}
	return string(cmp.Or(k.Status, Lost))
}

// Lost is the status of one whose process ended while it worked.
const Lost subagent.Status = "lost"

// List returns everybody that can be spoken to, in the order of their ids.
func (c *Crew) List() []Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.past)
	for id, m := range c.members {
		all[id] = m.known()
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Known) int { return cmp.Compare(a.ID, b.ID) })
}

// Listed is List as a model sees it.
func (c *Crew) Listed() []subagent.Listed {
	var all []subagent.Listed
	for _, k := range c.List() {
		all = append(all, subagent.Listed{
			ID: k.ID, Kind: k.Kind, Name: k.Name, Team: k.Team, Description: k.Description, State: k.State(), Tokens: k.Tokens, ToolUses: k.ToolUses, Began: k.Began,
		})
	}
	return all
}

// Kind is that of an agent; "" if there is none of the id.
func (c *Crew) Kind(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[id]; m != nil {
		return m.made.Kind
	}
	return ""
}

// Caller is the agent that started another; "" if the main conversation did, or if it is not
// known.
func (c *Crew) Caller(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[id]; m != nil {
		return m.job.Caller
	}
	return ""
}

// About says what an agent does, and where its transcript is; see [bash.Agents].
func (c *Crew) About(id string) (work, transcript string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[id]; m != nil {
		return m.job.Description, m.made.Output, true
	}
	k, ok := c.past[id]
	return k.Description, "", ok
}

// save keeps what is known, so that a session that is resumed can say who is gone
// and continue with those who are not needed to be.
func (c *Crew) save() {
	if c.opts.Save != nil {
		c.saving.Lock() // the last to be written is the last that was seen
		defer c.saving.Unlock()
		c.opts.Save(c.List())
	}
}

// Remember takes in who worked before this process. They can be spoken to as if
// they had finished.
func (c *Crew) Remember(known []Known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range known {
		if k.Running {
			k.Running, k.Status = false, Lost
		}
		c.past[k.ID] = k
		if k.Team != "" {
			c.teams[k.Team] = ""
		}
		c.forget()
	}
}

// LostText tells a model which agents were at work when a session broke off.
func LostText(known []Known) string {
	var b strings.Builder
	for _, k := range known {
		if k.Running {
			fmt.Fprintf(&b, "- %s (%s): %s\n", k.ID, k.Kind, k.Description)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "These agents were running when the session was interrupted and have stopped. Their last work may be incomplete: check before you repeat it. " +
		"To let an agent continue where it left off, use SendMessage. The agents:\n" + b.String()
}
