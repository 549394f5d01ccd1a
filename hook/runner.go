package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/sys/processgroup"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
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

// merge combines runs in their order. About is the event, and the tool if there is one.
func merge(about string, runs []Run) Outcome {
	o := Outcome{Runs: runs}
	var reasons []string
	for i := range runs {
		run, s := &runs[i], &runs[i].said
		if s.behavior > o.Behavior {
			o.Behavior, o.Hook, o.Origin, reasons = s.behavior, run.Hook, run.Origin, nil
		}
		if s.behavior == o.Behavior && s.behavior != tool.NoView && s.reason != "" {
			reasons = append(reasons, s.reason)
		}
		if s.context != "" {
			o.Notes = append(o.Notes, about+" hook additional context: "+s.context)
		}
		if s.text != "" {
			o.Notes = append(o.Notes, about+" hook success: "+s.text)
		}
		if s.output != nil {
			o.Output = s.output
		}
		if s.stop && !o.Stop {
			o.Stop, o.StopReason = true, s.stopReason
		}
		o.Interrupt = o.Interrupt || s.interrupt && s.behavior == tool.Deny
	}
	o.Reason = strings.Join(reasons, "\n")
	o.mergeInput()
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
	late := time.AfterFunc(r.opts.Patience, func() { r.close(timeoutError{r.opts.Patience}) })
	defer late.Stop()
	r.unwaited.Wait()
	r.close(nil)
}

// ask puts the question of a hook.
func (r *Runner) ask(ctx context.Context, h *Hook, input []byte, run *Run) (Output, error) {
	if h.Agentic {
		if ctx.Value(asked{}) != nil {
			return Output{}, nil
		}
		ctx = context.WithValue(ctx, asked{}, true)
	}
	if r.opts.Ask == nil {
		return Output{}, errors.New("no model can be asked here")
	}
	answer, err := r.opts.Ask(ctx, Question{Event: h.Event, Caller: run.Agent, Text: question(h.Prompt, input), Model: h.Model, Agent: h.Agentic})
	if err != nil {
		return Output{}, err
	}
	run.Stdout = beginning([]byte(answer))
	return readOpinion(answer)
}

// readOpinion finds the object in an answer. A model may put words or a fence around it, but
// an answer without one is an error: nobody knows what was meant.
func readOpinion(answer string) (Output, error) {
	var opinion struct {
		OK     *bool  `json:"ok"`
		Reason string `json:"reason"`
	}
	for at := strings.LastIndexByte(answer, '{'); at >= 0; at = strings.LastIndexByte(answer[:at], '{') {
		d := json.NewDecoder(bytes.NewReader([]byte(answer[at:])))
		if d.Decode(&opinion) == nil && opinion.OK != nil {
			break
		}
		opinion.OK = nil
	}
	switch {
	case opinion.OK == nil:
		return Output{}, &AnswerError{fmt.Errorf(`the model did not answer with {"ok": true} or {"ok": false}: %s`, quoteLine([]byte(answer), 0))}
	case *opinion.OK:
		return Output{}, nil
	}
	return Output{Decision: "block", Reason: "the condition of a hook is not met: " + orNoReason(opinion.Reason)}, nil
}

// question puts the input where the prompt wants it, or at its end.
func question(prompt string, input []byte) string {
	const place = "$ARGUMENTS"
	if !strings.Contains(prompt, place) {
		prompt += "\n\nARGUMENTS: " + place
	}
	return strings.ReplaceAll(prompt, place, string(input))
}

// Before runs the PreToolUse hooks of a call.
func (r *Runner) Before(ctx context.Context, t *tool.Tool, c *tool.Call) (tool.Verdict, []string) {
	if !r.Has("PreToolUse") {
		return tool.Verdict{}, nil
	}
	return r.before(ctx, c, use(t, c), targetOf(t, c))
}

func (r *Runner) before(ctx context.Context, c *tool.Call, d PreToolUse, t target) (tool.Verdict, []string) {
	o := r.fire(ctx, c.Agent, d, t)
	notes := o.Notes
	if o.Conflict != nil {
		notes = append(notes, fmt.Sprintf("PreToolUse:%s hooks returned different inputs (%s); the last one is used.", c.Tool, strings.Join(o.Conflict, ", ")))
	}
	v := o.verdict(fmt.Sprintf("PreToolUse:%s hook error: ", c.Tool))
	if o.Stop {
		v.Behavior, v.Interrupt, v.Input, v.Reason = tool.Deny, true, nil, "a hook stopped the turn"
		v.Message = fmt.Sprintf("A PreToolUse:%s hook stopped the turn: %s", c.Tool, orNoReason(o.StopReason))
	}
	return v, notes
}

// After runs the PostToolUse hooks of a call that ran, or the PostToolUseFailure
// hooks of one that failed.
func (r *Runner) After(ctx context.Context, t *tool.Tool, c *tool.Call, result tool.Result) (*tool.Result, []string) {
	event := Event("PostToolUse")
	if result.Failed {
		event = "PostToolUseFailure"
	}
	if !r.Has(event) {
		return nil, nil
	}
	var d Detail = PostToolUse{PreToolUse: use(t, c), ToolResponse: response(result), DurationMS: c.Took.Milliseconds()}
	if result.Failed {
		d = PostToolUseFailure{PreToolUse: use(t, c), Error: result.Text(), DurationMS: c.Took.Milliseconds()}
	}
	o := r.fire(ctx, c.Agent, d, targetOf(t, c))
	notes := o.Notes
	if o.Blocked() {
		notes = append(notes, fmt.Sprintf("%s:%s hook blocking error: %s", event, c.Tool, orNoReason(o.Reason)))
	}
	var replacement *tool.Result
	if o.Output != nil && !result.Failed {
		replacement = replaced(result, o.Output)
	}
	if o.Stop {
		if replacement == nil {
			replacement = &result
		}
		replacement.Change = stopping(replacement.Change, fmt.Sprintf("a %s:%s hook stopped the turn: %s", event, c.Tool, orNoReason(o.StopReason)))
	}
	return replacement, notes
}

// stopping is a change that also ends the turn.
func stopping(c *tool.Change, why string) *tool.Change {
	var changed tool.Change
	if c != nil {
		changed = *c
	}
	changed.Stop = why
	return &changed
}

// response is a result as programs see it: the typed output, or else the content.
func response(r tool.Result) any {
	if r.Output != nil {
		return r.Output
	}
	return r.Content
}

// replaced is a result with another output. The model reads a string as it is, and anything
// else as JSON.
func replaced(r tool.Result, output json.RawMessage) *tool.Result {
	var text string
	if json.Unmarshal(output, &text) == nil {
		r.Content, r.Output = tool.Text(text).Content, text
		return &r
	}
	r.Content, r.Output = tool.Text(string(bytes.TrimSpace(output))).Content, output
	return &r
}

// Ask runs the PermissionRequest hooks of a call that someone has to decide about. If they
// have no opinion, neither does Ask. A call that needs a user's answer can only be denied by
// them.
func (r *Runner) Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	if !r.Has("PermissionRequest") {
		return tool.Verdict{}, nil
	}
	d := PermissionRequest{ToolName: c.Call.Tool, ToolInput: inputOf(c.Call), Suggestions: suggestions(question.Suggestions)}
	o := r.fire(ctx, c.Call.Agent, d, targetOf(c.Tool, c.Call))
	v := o.verdict(fmt.Sprintf("PermissionRequest:%s hook error: ", c.Call.Tool))
	if v.Behavior != tool.Allow && v.Behavior != tool.Deny {
		return tool.Verdict{}, nil
	}
	if v.Behavior == tool.Allow && question.NeedsPerson {
		return tool.Verdict{}, nil
	}
	v.Interrupt = o.Interrupt
	return v, nil
}

func suggestions(list []tool.Suggestion) []Suggestion {
	var all []Suggestion
	for _, s := range list {
		rule := SuggestedRule{ToolName: s.Rule}
		if name, content, ok := strings.Cut(s.Rule, "("); ok {
			rule = SuggestedRule{name, strings.TrimSuffix(content, ")")}
		}
		to := destinations[s.Scope]
		if to == "" {
			to = "session"
		}
		all = append(all, Suggestion{"addRules", []SuggestedRule{rule}, s.Behavior.String(), to})
	}
	return all
}

// command runs a shell command that reads its input from standard input.
func (r *Runner) command(ctx context.Context, h *Hook, about Common, input []byte, run *Run) (Output, error) {
	var stdout head
	var stderr tail
	cmd := r.newCmd(ctx, h, about.Cwd, h.Command)
	cmd.Env = append(cmd.Env, "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID="+about.SessionID)
	if about.Effort != nil {
		cmd.Env = append(cmd.Env, "CLAUDE_EFFORT="+about.Effort.Level)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	code, err := r.runProcess(ctx, cmd)
	printed, dropped := stdout.get()
	run.Stdout, run.Stderr, run.Dropped, run.ExitCode = beginning(printed), strings.TrimSpace(stderr.get()), dropped, code
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return Output{}, ctx.Err()
	case run.ExitCode == 2 && (err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay)):
		return r.blocked(ctx, h, cmd, run)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return Output{}, exitError(err, run)
	case run.ExitCode != 0:
		return Output{}, exitError(fmt.Errorf("exit status %d", run.ExitCode), run)
	case dropped > 0:
		return Output{}, fmt.Errorf("it printed %d bytes more than the limit of %d", dropped, maxOutput)
	}
	return parseOutput(printed, h.Event, input)
}

// runProcess runs the process of a hook and returns its exit code.
func (r *Runner) runProcess(ctx context.Context, cmd *exec.Cmd) (code int, err error) {
	if r.opts.Run != nil {
		if code, done, err := r.opts.Run(ctx, cmd); done {
			return code, err
		}
	}
	err = cmd.Run()
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return code, err
}

func (r *Runner) newCmd(ctx context.Context, h *Hook, dir, command string) *exec.Cmd {
	args := append(slices.Clone(r.opts.Shell), command)
	if h.Args != nil {
		args = r.fillIn(h, append([]string{command}, h.Args...))
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = r.opts.Project
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		cmd.Dir = dir
	}
	cmd.Env = r.environ(h)
	cmd.WaitDelay = linger
	processgroup.Own(cmd)
	return cmd
}

// fillIn puts the project's folder, and the hook's own variables, into words that no shell
// sees.
func (r *Runner) fillIn(h *Hook, words []string) []string {
	pairs := []string{"${CLAUDE_PROJECT_DIR}", r.opts.Project, "${HAFT_PROJECT_DIR}", r.opts.Project}
	for name, value := range h.Vars {
		pairs = append(pairs, "${"+name+"}", value)
	}
	known := strings.NewReplacer(pairs...)
	for i, word := range words {
		words[i] = known.Replace(word)
	}
	return words
}

// blocked is what exit code 2 means: the hook blocks, unless it never started.
func (r *Runner) blocked(ctx context.Context, h *Hook, cmd *exec.Cmd, run *Run) (Output, error) {
	if r.neverStarted(ctx, h, cmd.Dir, run.Stderr) {
		return Output{}, &notStarted{run.Stderr}
	}
	reason := run.Stderr
	if reason == "" {
		reason = "no reason given"
	}
	return Output{Decision: "block", Reason: fmt.Sprintf("[%s]: %s", h.Command, reason)}, nil
}

// neverStarted reports whether code 2 does not come from the hook, but means that there is
// no such hook. The output may contain words of the model, so it is believed only if the
// fault can be verified: the script that the command names is missing, or the shell cannot
// parse the command.
func (r *Runner) neverStarted(ctx context.Context, h *Hook, dir, stderr string) bool {
	if m := missingScript.FindStringSubmatch(stderr); m != nil {
		script := from(dir, m[1]+m[2]+m[3])
		_, err := os.Stat(script)
		return errors.Is(err, os.ErrNotExist) && slices.Contains(r.paths(h, dir), script)
	}
	if h.Args == nil && badSyntax.MatchString(stderr) && len(r.opts.Shell) == 2 && r.opts.Shell[1] == "-c" {
		check := r.newCmd(ctx, h, dir, h.Command)
		check.Args = slices.Insert(check.Args, 1, "-n")
		return check.Run() != nil && ctx.Err() == nil
	}
	return false
}

// paths are the words of a hook's command as files, including those that are not.
func (r *Runner) paths(h *Hook, dir string) []string {
	variable := func(name string) string {
		for _, v := range slices.Backward(r.environ(h)) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	var paths []string
	for word := range strings.FieldsSeq(h.Command) {
		word = strings.Trim(word, `"';`)
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			word = variable("HOME") + "/" + rest
		}
		paths = append(paths, from(dir, os.Expand(word, variable)))
	}
	return paths
}

// environ is the environment of a hook's command.
func (r *Runner) environ(h *Hook) []string {
	var env []string
	for _, v := range r.opts.Environ {
		name, _, _ := strings.Cut(v, "=")
		if !r.opts.Secret(name) || slices.Contains(h.Env, name) {
			env = append(env, v)
		}
	}
	if r.opts.Project != "" {
		env = append(env, "CLAUDE_PROJECT_DIR="+r.opts.Project, "HAFT_PROJECT_DIR="+r.opts.Project)
	}
	for name, value := range h.Vars {
		env = append(env, name+"="+value)
	}
	return env
}

// Effects runs the PreToolUse hooks that wait for what the call would change. For a
// command, the pipeline has found that out; a file tool says it itself. Such a hook cannot
// change the input, because the change belongs to the original one.
func (r *Runner) Effects(ctx context.Context, c tool.Case) (tool.Verdict, []string) {
	t := targetOf(c.Tool, c.Call)
	t.effects = true
	if len(r.choose(c.Call.Agent, "PreToolUse", t)) == 0 {
		return tool.Verdict{}, nil
	}
	if !c.Looked && c.Tool.Command == nil {
		c.Preview, c.Unclear = c.Tool.PreviewOf(ctx, c.Call)
	}
	d := use(c.Tool, c.Call)
	d.Preview = previewOf(c.Preview)
	if c.Unclear != nil {
		d.PreviewError = c.Unclear.Error()
	}
	v, notes := r.before(ctx, c.Call, d, t)
	if v.Input != nil {
		v.Input = nil
		notes = append(notes, fmt.Sprintf("A PreToolUse:%s hook that runs after the preview returned a different input, which is ignored.", c.Call.Tool))
	}
	return v, notes
}

func previewOf(p *tool.Preview) *Preview {
	if p == nil {
		return nil
	}
	out := &Preview{Digest: p.Digest(), Ran: p.Ran, Files: []PreviewFile{}, Notes: p.Notes}
	room := maxDiffText
	for _, f := range p.Files {
		file := PreviewFile{Path: f.Path, From: f.From, Change: "changed", Folded: f.Folded, Protected: f.Protected}
		switch {
		case f.Before == nil:
			file.Change = "added"
		case f.After == nil:
			file.Change = "deleted"
		}
		if f.After != nil {
			file.Mode, file.Size = f.After.Mode.String(), f.After.Size
		}
		before, after := textOf(f.Before), textOf(f.After)
		file.Binary = f.Before != nil && f.Before.Binary || f.After != nil && f.After.Binary
		if f.Folded == "" && !file.Binary && len(before) <= maxDiffed && len(after) <= maxDiffed && room > 0 {
			file.Diff = patch.Hunks(patch.Diff(before, after, 3))
			room -= len(file.Diff)
		}
		out.Files = append(out.Files, file)
	}
	return out
}

// post sends the input to a URL and reads the answer like a command's output.
func (r *Runner) post(ctx context.Context, h *Hook, input []byte, run *Run) (Output, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(input))
	if err != nil {
		return Output{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		req.Header.Set(name, r.expand(h, value))
	}
	resp, err := r.opts.Client.Do(req)
	if err != nil {
		return Output{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput+1))
	if err != nil {
		return Output{}, fmt.Errorf("read its answer: %w", err)
	}
	run.Stdout = beginning(body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Output{}, fmt.Errorf("it answered %s", resp.Status)
	}
	if len(body) > maxOutput {
		run.Dropped = max(1, resp.ContentLength-maxOutput)
		return Output{}, fmt.Errorf("its answer exceeds the limit of %d bytes", maxOutput)
	}
	return parseOutput(body, h.Event, input)
}

// expand fills in the variables that the hook names.
func (r *Runner) expand(h *Hook, text string) string {
	return os.Expand(text, func(name string) string {
		if !slices.Contains(h.Env, name) {
			return ""
		}
		for _, v := range slices.Backward(r.opts.Environ) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	})
}

// run runs one hook and records the result.
func (r *Runner) run(ctx context.Context, t *task, in Input) {
	h, run := &t.hook.Hook, &t.run
	run.Started = time.Now()
	defer func() { run.Duration = time.Since(run.Started) }()
	if run.Err == nil && r.opts.Check != nil {
		run.Err = r.opts.Check(h)
	}
	if run.Err == nil && h.Check != nil {
		run.Err = h.Check()
	}
	required := h.Required && run.Err != nil
	if run.Err == nil {
		run.Err = h.Fault
	}
	if run.Err == nil {
		run.Err = r.attempt(ctx, h, in, run)
	}
	if run.Err == nil {
		return
	}
	run.said = said{}
	// A function whose answer is invalid has not approved anything.
	unread := h.Func != nil && errors.As(run.Err, new(*AnswerError)) && slices.Contains(settings.Guards, string(in.Detail.Event()))
	// Exit code 2 blocks in Claude Code, even if it is the shell's or the interpreter's.
	required = required || h.Required && errors.As(run.Err, new(*notStarted))
	if (h.Block || required || unread) && !onceMore(in.Detail) {
		run.said = said{behavior: tool.Deny, reason: fmt.Sprintf("the required hook %s failed: %s", h.name(), run.Err)}
	}
	run.Behavior, run.Reason = run.said.behavior, run.said.reason
}

// onceMore reports whether a turn already continues because of a Stop hook. A broken hook
// blocks the end once: the model cannot fix it, however often it tries.
func onceMore(d Detail) bool {
	switch d := d.(type) {
	case Stop:
		return d.StopHookActive
	case SubagentStop:
		return d.StopHookActive
	}
	return false
}

// attempt runs a hook within its time. An error is the hook's own.
func (r *Runner) attempt(ctx context.Context, h *Hook, in Input, run *Run) error {
	limit := h.Timeout
	switch {
	case limit != 0:
	case h.Agentic:
		limit = agentTime
	case h.Prompt != "":
		limit = modelTime
	default:
		limit = r.opts.Timeout
	}
	timeout := fmt.Errorf("it took longer than %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timeout)
	defer cancel()
	out, err := r.start(ctx, h, in, run)
	if ctx.Err() != nil && err != nil {
		cause := context.Cause(ctx)
		run.Cancelled = errors.Is(ctx.Err(), context.Canceled) && !errors.As(cause, new(timeoutError))
		return cause
	}
	if err != nil {
		return err
	}
	run.Message, run.Suppress = out.SystemMessage, out.SuppressOutput
	if run.Suppress {
		run.Stdout = ""
	}
	if run.said, err = out.read(in.Detail.Event()); err != nil {
		return &AnswerError{err}
	}
	run.Behavior, run.Reason = run.said.behavior, run.said.reason
	return nil
}

func (r *Runner) start(ctx context.Context, h *Hook, in Input, run *Run) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	if h.Func != nil {
		return callFunc(ctx, h, in)
	}
	text, err := in.MarshalJSON()
	if err != nil {
		return Output{}, err
	}
	switch {
	case h.Command != "":
		return r.command(ctx, h, in.Common, append(text, '\n'), run)
	case h.URL != "":
		return r.post(ctx, h, text, run)
	case h.Prompt != "":
		return r.ask(ctx, h, text, run)
	}
	return Output{}, errors.New("it has nothing to run")
}

// callFunc calls a function, and does not wait for it after its context has ended.
func callFunc(ctx context.Context, h *Hook, in Input) (Output, error) {
	type answer struct {
		out Output
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("it crashed: %v", p)
			}
			done <- a
		}()
		a.out, a.err = h.Func(ctx, in)
	}()
	select {
	case a := <-done:
		return a.out, a.err
	case <-ctx.Done():
		return Output{}, ctx.Err()
	}
}

// Concerning returns the PreToolUse hooks that would see a call, as runs that have not
// started. Their answers are not known without running them.
func (r *Runner) Concerning(t *tool.Tool, c *tool.Call) []Run {
	var runs []Run
	about := targetOf(t, c)
	for _, effects := range []bool{false, true} {
		about.effects = effects
		for _, task := range r.choose(c.Agent, "PreToolUse", about) {
			runs = append(runs, task.run)
		}
	}
	return runs
}

// timeoutError is why a hook that nobody waited for was stopped.
type timeoutError struct{ patience time.Duration }

func (e timeoutError) Error() string {
	return fmt.Sprintf("it was still running %s after the session ended, and was stopped", e.patience)
}
