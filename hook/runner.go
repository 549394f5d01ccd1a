package hook

import (
	"context"
	"net/http"
	"os"
	"slices"
	"time"
)

// A Runner runs the hooks of a session.
type Runner struct {
	opts  Options
	hooks map[Event][]prepared // in the order of configuration
	slots chan struct{}        // one for each hook that may run at a time
}

type prepared struct {
	Hook
	matcher matcher
}

// Options are what hooks run in. Nil means all zero values.
type Options struct {
	// Project is the folder that hooks are told the project is in, and that
	// commands run in if the session has no working directory; "" means none.
	Project string
	// Common returns what every input says; agent is the sub-agent that the event
	// is in, or "". Nil means that nothing is known.
	Common func(agent string) Common
	// Match compares calls with rules in matchers; nil means that a rule matches
	// every call of its tool.
	Match MatchFunc
	// Report is told of every run when it ends; nil tells nobody. It must be safe
	// for concurrent use and not block for long.
	Report func(Run)
	// Timeout is how long a hook may take; 0 means a minute.
	Timeout time.Duration
	// Parallel is how many hooks may run at a time; 0 means 32.
	Parallel int
	// Environ is the environment of commands; nil means that of this process.
	Environ []string
	// Secret reports whether a variable is kept from hooks that do not name it;
	// nil means [ProviderKey].
	Secret func(name string) bool
	// Shell runs a command that is added to it; nil means bash, or sh if there is
	// no bash.
	Shell []string
	// Client posts to URLs; nil means one that follows no redirects.
	Client *http.Client
}

// New returns a runner of the hooks, which run in this order where order matters.
func New(hooks []Hook, opts *Options) *Runner {
	r := &Runner{hooks: map[Event][]prepared{}}
	if opts != nil {
		r.opts = *opts
	}
	o := &r.opts
	if o.Common == nil {
		o.Common = func(agent string) Common { return Common{AgentID: agent} }
	}
	if o.Report == nil {
		o.Report = func(Run) {}
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Parallel == 0 {
		o.Parallel = 32
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Secret == nil {
		o.Secret = ProviderKey
	}
	if o.Shell == nil {
		o.Shell = defaultShell()
	}
	if o.Client == nil {
		o.Client = newClient()
	}
	r.slots = make(chan struct{}, o.Parallel)
	for _, h := range hooks {
		r.hooks[h.Event] = append(r.hooks[h.Event], prepared{h, newMatcher(&h)})
	}
	return r
}

// Fire runs the hooks of an event side by side and waits for all of them. Agent is
// the sub-agent that the event is in, or "". For tool calls use Before, After and
// Ask.
func (r *Runner) Fire(ctx context.Context, agent string, d Detail) Outcome {
	return r.fire(ctx, agent, d, target{names: d.subjects()})
}

func (r *Runner) fire(ctx context.Context, agent string, d Detail, t target) Outcome {
	runs, hooks := r.choose(d.Event(), t)
	if len(runs) == 0 {
		return Outcome{}
	}
	in := Input{r.opts.Common(agent), d}
	in.AgentID = agent
	if t.call != nil && in.PermissionMode == "" && t.call.Session != nil {
		in.PermissionMode = t.call.Session.Mode
	}
	about := string(d.Event())
	if t.call != nil {
		about += ":" + t.call.Tool
	}
	done := make(chan int)
	for i, h := range hooks {
		run := &runs[i]
		run.Event, run.Hook, run.Origin, run.Agent = d.Event(), h.name(), h.Origin, agent
		if t.call != nil {
			run.Tool, run.Call = t.call.Tool, t.call.ID
		}
		go func() {
			r.run(ctx, h, in, run)
			done <- i
		}()
	}
	for range hooks {
		r.opts.Report(runs[<-done])
	}
	return merge(about, runs)
}

// choose returns the hooks of an event that are for the target, each once, and a
// run for each. A hook whose matcher is broken has its error in the run already.
func (r *Runner) choose(event Event, t target) ([]Run, []*Hook) {
	var runs []Run
	var hooks, sound []*Hook
	for i := range r.hooks[event] {
		h := &r.hooks[event][i]
		ok, err := h.matcher.matches(t, r.opts.Match)
		switch {
		case err != nil:
		case !ok, slices.ContainsFunc(sound, h.same):
			continue
		default:
			sound = append(sound, &h.Hook)
		}
		runs, hooks = append(runs, Run{Err: err}), append(hooks, &h.Hook)
	}
	return runs, hooks
}
