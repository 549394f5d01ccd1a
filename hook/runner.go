package hook

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
)

// A Runner runs the hooks of a session.
type Runner struct {
	opts  Options
	slots chan struct{} // one for each hook that may run at a time

	mu    sync.RWMutex
	hooks []*prepared // in the order of configuration; replaced as a whole, never modified

	failures failures

	// Hooks that are not waited for run in background until close is called.
	background context.Context
	close      context.CancelCauseFunc
	unwaited   sync.WaitGroup
}

type prepared struct {
	Hook
	matcher matcher
	ran     atomic.Pointer[string] // the call that it first ran for, "" for another event
}

// Options are what hooks run in. Nil means all zero values.
type Options struct {
	// Project is the project folder. Hooks are told it, and commands run in it if the session
	// has no working directory; "" means none.
	Project string
	// Common returns what every input contains; agent is the sub-agent of the event, or "".
	// Nil means that nothing is known.
	Common func(agent string) Common
	// Caller returns the sub-agent that started a sub-agent, "" for none; nil means that it is
	// not known.
	Caller func(agent string) string
	// Match compares calls with rules in matchers; nil means that a rule matches every call
	// of its tool.
	Match MatchFunc
	// Check is called before each run of a hook; an error prevents the run and is an error
	// of the hook. Nil means that nothing prevents it.
	Check func(*Hook) error
	// Report, if not nil, is called with every run when it ends. It must be safe for
	// concurrent use and not block for long.
	Report func(Run)
	// Timeout is how long a hook may take; 0 means a minute.
	Timeout time.Duration
	// Patience is how long Close waits for background hooks; 0 means 1.5 seconds, so that a
	// process ends within the two seconds that programs wait for it.
	Patience time.Duration
	// Parallel is how many hooks may run at a time; 0 means 32.
	Parallel int
	// Environ is the environment of commands; nil means that of this process.
	Environ []string
	// Secret reports whether a variable is hidden from hooks that do not name it; nil means
	// [ProviderKey].
	Secret func(name string) bool
	// Shell runs a command that is appended to it; nil means bash, or sh if there is no
	// bash.
	Shell []string
	// Run runs the process of a command instead of cmd.Run, for example to confine it, and
	// returns its exit code, or reports that it did not run it. Nil means cmd.Run.
	Run func(ctx context.Context, cmd *exec.Cmd) (code int, done bool, err error)
	// Ask returns a model's answer to a question, which should have [AnswerForm]; nil means
	// that there is no model, so that hooks which ask one fail.
	Ask func(context.Context, Question) (string, error)
	// Client posts to URLs; nil means one that follows no redirects.
	Client *http.Client
}

// New returns a runner of the hooks, in this order where order matters. It must be closed.
func New(hooks []Hook, opts *Options) *Runner {
	r := new(Runner)
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
	if o.Patience == 0 {
		o.Patience = 1500 * time.Millisecond
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
		o.Shell = defaultShell(o.Project)
	}
	if o.Client == nil {
		o.Client = newClient()
	}
	r.slots = make(chan struct{}, o.Parallel)
	r.background, r.close = context.WithCancelCause(context.Background())
	r.Add(hooks)
	return r
}

// Add adds hooks, after the existing ones, until remove is called.
func (r *Runner) Add(hooks []Hook) (remove func()) {
	var added []*prepared
	for _, h := range hooks {
		added = append(added, &prepared{Hook: h, matcher: newMatcher(&h)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = slices.Concat(r.hooks, added)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hooks = slices.DeleteFunc(slices.Clone(r.hooks), func(h *prepared) bool { return slices.Contains(added, h) })
	}
}

// of returns the hooks of an event that still run for a call, or for no call if it is "".
func (r *Runner) of(event Event, call string) (hooks []*prepared) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, h := range r.hooks {
		if h.Event == event && (!h.Once || h.runsFor(call, h.ran.Load())) {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// runsFor reports whether a hook that runs once may run for a call, given what it ran for.
// It may see the change of the call that it has asked about.
func (h *prepared) runsFor(call string, ran *string) bool {
	return ran == nil || h.Preview && call != "" && *ran == call
}

// claim reports whether a hook that runs once runs now: another event may have been faster.
func (h *prepared) claim(call string) bool {
	return h.ran.CompareAndSwap(nil, &call) || h.runsFor(call, h.ran.Load())
}

// Has reports whether there are hooks for an event.
func (r *Runner) Has(event Event) bool { return len(r.of(event, "")) > 0 }

// newClient returns a client that keeps no connections and follows no redirects: an input
// goes only where the settings say.
func newClient() *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func defaultShell(project string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C"}
	}
	if bash, err := ownprogram.Find("bash", project); err == nil {
		return []string{bash, "-c"}
	}
	return []string{"/bin/sh", "-c"}
}

// Fire runs the hooks of an event in parallel and waits for all of them. Agent is the
// sub-agent of the event, or "". For tool calls use Before, After and Ask.
func (r *Runner) Fire(ctx context.Context, agent string, d Detail) Outcome {
	return r.fire(ctx, agent, d, target{names: d.subjects()})
}

func (r *Runner) fire(ctx context.Context, agent string, d Detail, t target) Outcome {
	tasks := slices.DeleteFunc(r.choose(agent, d.Event(), t), func(task *task) bool {
		return task.hook.Once && !task.hook.claim(t.callID())
	})
	if len(tasks) == 0 {
		return Outcome{Notes: r.failures.take(d.Event())}
	}
	in := Input{r.opts.Common(agent), d}
	in.AgentID = agent
	about := string(d.Event())
	if c := t.call; c != nil {
		about += ":" + c.Tool
		if in.PermissionMode == "" && c.Session != nil {
			in.PermissionMode = c.Session.Mode
		}
	}
	o := merge(about, r.runAll(ctx, tasks, in))
	r.failures.add(tasks, about)
	o.Notes = append(r.failures.take(d.Event()), o.Notes...)
	return o
}

// A task is a hook that is about to run.
type task struct {
	hook *prepared
	run  Run // with an error if it cannot
}

// choose returns the hooks of an event that are for the target, each once. A hook with a
// broken matcher is included, with its error.
func (r *Runner) choose(agent string, event Event, t target) []*task {
	var tasks []*task
	var sound []*Hook
	for _, h := range r.of(event, t.callID()) {
		if h.Preview != t.effects && event == "PreToolUse" || !r.concerns(h, agent, t) {
			continue
		}
		ok, err := h.matcher.matches(t, r.opts.Match)
		switch {
		case err != nil:
		case !ok, slices.ContainsFunc(sound, h.same):
			continue
		default:
			sound = append(sound, &h.Hook)
		}
		run := Run{Event: event, Hook: h.name(), Origin: h.Origin, Agent: agent, InCode: h.Func != nil, ExitCode: -1, Err: err}
		if t.call != nil {
			run.Tool, run.Call = t.call.Tool, t.call.ID
		}
		tasks = append(tasks, &task{h, run})
	}
	return tasks
}

// concerns reports whether a hook is for what a sub-agent does. A guard must not be evaded
// by letting another agent make the call.
func (r *Runner) concerns(h *prepared, agent string, t target) bool {
	if h.Agent == "" || h.Agent == agent {
		return true
	}
	for t.call != nil && r.opts.Caller != nil && agent != "" {
		if agent = r.opts.Caller(agent); agent == h.Agent {
			return true
		}
	}
	return false
}

// runAll runs hooks in parallel, waits for those that are waited for, and returns their
// runs in order.
func (r *Runner) runAll(ctx context.Context, tasks []*task, in Input) []Run {
	var waited []*task
	done := make(chan *task)
	for _, t := range tasks {
		if t.hook.Async {
			r.unwaited.Go(func() {
				r.run(r.background, t, in)
				r.opts.Report(t.run)
			})
			continue
		}
		waited = append(waited, t)
		go func() {
			r.wait(ctx, t, in)
			done <- t
		}()
	}
	for range waited {
		r.opts.Report((<-done).run)
	}
	var runs []Run
	for _, t := range waited {
		runs = append(runs, t.run)
	}
	return runs
}

// wait runs a hook as soon as not too many others run.
func (r *Runner) wait(ctx context.Context, t *task, in Input) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
	}
	r.run(ctx, t, in)
}

// Close lets background hooks finish, stops those that take longer than [Options.Patience],
// and returns when all have ended. A hook that was stopped is reported as failed, because its
// work may be half done. The runner must not be used afterwards.
func (r *Runner) Close() {
	late := time.AfterFunc(r.opts.Patience, func() { r.close(errLate{r.opts.Patience}) })
	defer late.Stop()
	r.unwaited.Wait()
	r.close(nil)
}

// errLate is why a hook that no one waited for was stopped.
type errLate struct{ patience time.Duration }

func (e errLate) Error() string {
	return fmt.Sprintf("it was still running %s after the session ended, and was stopped", e.patience)
}
