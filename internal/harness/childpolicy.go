package harness

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/workdir"
	"github.com/haftdev/haft/tool"
)

// A childPolicy judges the calls of an agent: like the session, or more carefully. What its
// own skills allow applies only to this agent.
type childPolicy struct {
	engine *permission.Engine
	mode   permission.Mode
	dir    *workdir.Dir

	mu        sync.Mutex
	rules     []*permission.Rule
	base, own *permission.Policy // what own was made from, and own; nil means that it is out of date
}

func (p *childPolicy) judge(_ context.Context, c tool.Case) tool.Verdict {
	if message := p.stray(c.Tool, c.Call); message != "" {
		return tool.Verdict{Behavior: tool.Deny, Reason: "the agent works in a copy of the repository", Message: message}
	}
	return p.policy().Decide(c).Verdict
}

// stray says what is wrong with a call that would change the project's own files instead of
// the agent's copy; "" if nothing is.
func (p *childPolicy) stray(t *tool.Tool, c *tool.Call) string {
	if t == nil || t.Command != nil { // commands run in the copy
		return ""
	}
	for _, path := range t.PathsOf(c).Writes {
		if message := p.dir.Stray(path); message != "" {
			return message
		}
	}
	return ""
}

func (p *childPolicy) policy() *permission.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.engine.Policy(); p.own == nil || now != p.base {
		var rules []permission.Rule
		for _, r := range p.rules {
			rules = append(rules, *r)
		}
		p.base, p.own = now, p.engine.With(p.mode, rules...)
	}
	return p.own
}

// SetMode is not an agent's to do.
func (p *childPolicy) SetMode(string) error {
	return errors.New("the permission mode belongs to the session: an agent cannot change it")
}

// Allow lends rules to the agent.
func (p *childPolicy) Allow(texts []string) (undo func(), err error) {
	var lent []*permission.Rule
	for _, text := range texts {
		r := &permission.Rule{Text: text, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}}
		if err := r.Check(); err != nil {
			return nil, err
		}
		lent = append(lent, r)
	}
	p.change(func() { p.rules = append(p.rules, lent...) })
	return func() {
		p.change(func() {
			p.rules = slices.DeleteFunc(p.rules, func(r *permission.Rule) bool { return slices.Contains(lent, r) })
		})
	}, nil
}

func (p *childPolicy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.own = nil
}

// childPolicies are those of the agents by id; one that has ended may work again. It is no
// sync.Map: every package that uses a World would compile its generic types again.
type childPolicies struct {
	mu      sync.Mutex
	byAgent map[string]*childPolicy
}

func (c *childPolicies) keep(agent string, p *childPolicy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byAgent == nil {
		c.byAgent = make(map[string]*childPolicy)
	}
	c.byAgent[agent] = p
}

func (c *childPolicies) of(agent string) *childPolicy {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byAgent[agent]
}
