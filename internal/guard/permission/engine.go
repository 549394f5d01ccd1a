package permission

import (
	"context"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// An Engine is the policy of a running session. It implements the scheduler's Judge.
type Engine struct {
	mu      sync.RWMutex
	opts    Options
	policy  *Policy
	granted []Rule // by Grant, and not revoked
}

// NewEngine returns an engine that starts with the policy of opts.
func NewEngine(opts Options) *Engine {
	opts.Rules = slices.Clone(opts.Rules)
	return &Engine{opts: opts, policy: NewPolicy(opts)}
}

// Judge decides about a call by the current policy.
func (e *Engine) Judge(_ context.Context, c tool.Case) tool.Verdict {
	return e.Policy().Decide(c).Verdict
}

// Policy returns the current policy.
func (e *Engine) Policy() *Policy {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.policy
}

// Grant adds rules for the rest of the session.
func (e *Engine) Grant(rules ...Rule) {
	e.change(func(o *Options) {
		o.Rules = append(o.Rules, rules...)
		e.granted = append(e.granted, rules...)
	})
}

// Rules returns the rules that are in force now.
func (e *Engine) Rules() []Rule {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return slices.Clone(e.opts.Rules)
}

// Granted returns the rules that were added for the rest of the session.
func (e *Engine) Granted() []Rule {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return slices.Clone(e.granted)
}

// AddTemporary adds rules until remove is called.
func (e *Engine) AddTemporary(rules ...Rule) (remove func()) {
	e.change(func(o *Options) { o.Rules = append(o.Rules, rules...) })
	return sync.OnceFunc(func() {
		e.change(func(o *Options) {
			kept := slices.Clone(o.Rules)
			for _, r := range rules {
				if i := slices.Index(kept, r); i >= 0 {
					kept = slices.Delete(kept, i, i+1)
				}
			}
			o.Rules = kept
		})
	})
}

// Revoke removes rules from every source that has them.
func (e *Engine) Revoke(rules ...Rule) {
	e.RevokeAll(func(r Rule) bool {
		return slices.ContainsFunc(rules, func(gone Rule) bool { return gone.Text == r.Text && gone.Behavior == r.Behavior })
	})
}

// RevokeAll removes the rules for which gone returns true, except an administrator's.
func (e *Engine) RevokeAll(gone func(Rule) bool) {
	e.change(func(o *Options) {
		revoked := func(r Rule) bool { return r.Origin.Source != settings.Managed && gone(r) }
		o.Rules = slices.DeleteFunc(slices.Clone(o.Rules), revoked)
		e.granted = slices.DeleteFunc(e.granted, revoked)
	})
}

// Guard returns the current guard of the session's paths.
func (e *Engine) Guard() *guard.Guard {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.opts.Guard
}

// SetGuard replaces the guard, which decides which folders belong to the project.
func (e *Engine) SetGuard(g *guard.Guard) { e.change(func(o *Options) { o.Guard = g }) }

// With returns the current policy with more rules, for calls that something else has already
// allowed. A stricter mode, for a new agent, replaces the session's; a less strict one is
// ignored. The session's policy does not change.
func (e *Engine) With(mode Mode, rules ...Rule) *Policy {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if !mode.stricter(e.policy.Mode()) {
		mode = e.policy.Mode()
	}
	if len(rules) == 0 && mode == e.policy.Mode() {
		return e.policy
	}
	opts := e.opts
	opts.Mode = mode
	opts.Rules = slices.Concat(opts.Rules, rules)
	return NewPolicy(opts)
}

// SetMode changes the mode.
func (e *Engine) SetMode(m Mode) { e.change(func(o *Options) { o.Mode = m }) }

// change makes the next policy from changed options. Calls that are being judged keep the
// policy they began with.
func (e *Engine) change(f func(*Options)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.opts)
	e.policy.held.forget()
	e.policy = NewPolicy(e.opts)
}
