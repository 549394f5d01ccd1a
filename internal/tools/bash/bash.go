// Package bash provides the tools Bash, BashOutput, KillShell and Monitor, which share the
// table of background commands.
//
//	tools := bash.New(host, &bash.Options{Dir: project})
//	set := tool.NewSet(session, tools.List(), nil, nil)
//
// Tools is safe for concurrent use. The host is the caller's to close; EndAgent ends
// everything that one agent started.
//
// Trust: a command may do whatever the user may, within its call's Confinement. The pipeline
// gives permission to run before Run is called, together with the confinement, which
// Options.Box translates for the kernel to enforce. The model's words reach bash unchanged, as
// one argument. Commands do not inherit provider keys (see package shellrun), but a command
// that may read the user's files may read keys stored there. The output of a command is
// untrusted text. A plain sed -i is carried out as a file edit and runs no program.
package bash

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/tool"
)

var (
	//go:embed bash.md
	bashText string
	//go:embed bashoutput.md
	outputText string
	//go:embed killshell.md
	killText string
	//go:embed monitor.md
	monitorText string
)

// BackgroundFlag is the session flag without which commands cannot be run in
// the background.
const BackgroundFlag = "background"

// Options configure the tools. A nil *Options means all zero values.
type Options struct {
	Dir string // where commands start; empty means the root directory

	// Environ holds environment variables with settings: HAFT_BASH_TIMEOUT_MS,
	// HAFT_BASH_MAX_TIMEOUT_MS, HAFT_BASH_BACKGROUND_MS and HAFT_BASH_MAX_OUTPUT, or Claude
	// Code's names for them. Nil means none.
	Environ []string

	Timeout    time.Duration // of a command that gives none; zero means as Environ says, else 2 minutes
	MaxTimeout time.Duration // that a command may give; zero means as Environ says, else 10 minutes
	MaxOutput  int           // characters of output in a result; zero means as Environ says, else 30,000

	KeepEscapes bool // leaves terminal escapes in results
	EndAtLimit  bool // ends a command at its timeout instead of moving it to the background
	// Detached is how long a command that moved to the background at its timeout may continue
	// to run there; 0 means HAFT_BASH_BACKGROUND_MS, or an hour.
	Detached time.Duration

	// Analyze says what a command would do in a directory; nil means that nothing is known
	// of commands.
	Analyze func(command, dir string) *shell.Analysis
	// Harden returns the environment in which a command that was shown to change nothing
	// indeed changes nothing in a directory; see [shell.Hardening]. Such commands run without
	// the user's profile. Nil means that they run like any other.
	Harden func(dir string) []string

	// Box returns what confines a command with a given verdict. A nil Box or a nil result
	// means that nothing does.
	Box func(tool.Confinement) *sandbox.Spec
	// Unsandboxed says that the user can be asked to let a command run without the
	// sandbox.
	Unsandboxed bool

	// Agents are the agents that run in the background, so that one tool stops commands and
	// agents; nil means none.
	Agents Agents

	// Heard, if not nil, is called with each background command whose end was shown to an
	// agent in a result.
	Heard func(agent, id string)

	// Shown, if not nil, is called with each command that succeeded, with the directory that
	// it started in and all of its output.
	Shown func(agent, dir, command, output string)

	// Gone, if not nil, is called once with each folder that is gone when a command should
	// start in it; the command is refused.
	Gone func(dir string)

	// Previews run commands that need approval in an overlay, where they change nothing; nil
	// means that nothing is known about a command before it runs.
	Previews Previews

	// Edit makes plain sed -i commands file edits; nil means that they run like
	// any command.
	Edit *Edit
}

// Agents are the agents of a session that work in the background.
type Agents interface {
	// About says what an agent does and where its transcript is, which may be "". It
	// reports false for an id that no agent has.
	About(id string) (work, transcript string, ok bool)
	// Stop ends an agent's work and reports whether it was working.
	Stop(id string) bool
}

// Tools are the shell tools of a session.
type Tools struct {
	host *shellrun.Host
	opts Options

	warned sync.Once

	mu      sync.Mutex
	shells  map[string]*shellrun.Shell // by agent
	pending map[pendingCall]*pending
	refused []refusedCommand // the latest last
	lost    []string         // the folders that the user was told are gone
	watched map[watch]int64  // where the last line that Monitor found ends
}

// New returns the tools, which run commands on a host.
func New(host *shellrun.Host, opts *Options) *Tools {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Dir == "" {
		o.Dir = "/"
	}
	o.Timeout = firstSet(o.Timeout, millisOf(o.Environ, "HAFT_BASH_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", "CLAUDE_BASH_TIMEOUT_MS"), 2*time.Minute)
	o.MaxTimeout = firstSet(o.MaxTimeout, millisOf(o.Environ, "HAFT_BASH_MAX_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS"), 10*time.Minute)
	o.MaxTimeout = max(o.MaxTimeout, o.Timeout)
	o.Detached = firstSet(o.Detached, millisOf(o.Environ, "HAFT_BASH_BACKGROUND_MS"), time.Hour)
	o.MaxOutput = firstSet(o.MaxOutput, numberOf(o.Environ, "HAFT_BASH_MAX_OUTPUT", "BASH_MAX_OUTPUT_LENGTH"), 30_000)
	return &Tools{host: host, opts: o, shells: make(map[string]*shellrun.Shell), pending: make(map[pendingCall]*pending), watched: make(map[watch]int64)}
}

// List returns the tools.
func (t *Tools) List() []tool.Tool {
	return []tool.Tool{t.bash(), t.bashOutput(), t.killShell(), t.monitor()}
}

// shell returns the shell of an agent, made with its first command.
func (t *Tools) shell(agent string) *shellrun.Shell {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.shells[agent]
	if s == nil {
		s = t.host.NewShell(t.opts.Dir)
		t.shells[agent] = s
	}
	return s
}

// Dir returns the directory in which the next command of an agent starts.
func (t *Tools) Dir(agent string) string { return t.shell(agent).Dir() }

// Move makes the next command of an agent start in dir. Its commands belong to the folder home
// from then on: if that is gone, none is started.
func (t *Tools) Move(agent, home, dir string) error { return t.shell(agent).Settle(home, dir) }

// EndAgent ends every command of an agent that has ended, and forgets its directory.
func (t *Tools) EndAgent(agent string) {
	t.mu.Lock()
	s := t.shells[agent]
	delete(t.shells, agent)
	t.mu.Unlock()
	_ = t.dropPreviews(func(of string) bool { return of == agent }) // what stays is swept later
	if s != nil {
		s.Close()
	}
}

// DropPreviews drops the changes that wait for an answer, at the end of a session.
func (t *Tools) DropPreviews() error {
	return t.dropPreviews(func(string) bool { return true })
}

func (t *Tools) bash() tool.Tool {
	b := tool.New(tool.Def[Input, Output]{
		Name:          "Bash",
		SearchHint:    "shell command terminal execute run script",
		Describe:      t.describe,
		Validate:      t.validate,
		Permission:    t.permission,
		Classify:      func(in Input) string { return in.Command },
		Command:       func(in *Input) *string { return &in.Command },
		Analyze:       t.analyze,
		Paths:         t.paths,
		Preview:       t.preview,
		Run:           t.run,
		Render:        Output.Render,
		Summarize:     func(in Input) string { return in.Command }, // the description is only the model's word for it
		MaxResult:     t.opts.MaxOutput + 5_000,                    // the output is bounded where it arises; what is said about it comes on top
		StopsSiblings: true,

		SummarizeResult: Output.summary,
	})
	b.Marks = t.marks
	return b
}

// moves finds commands that may leave the shell in another directory. It finds too
// many rather than too few.
var moves = lazyregexp.New(`\b(cd|pushd|popd)\b`)

func (t *Tools) validate(_ context.Context, c *tool.Call, in Input) *tool.Problem {
	if err := t.shell(c.Agent).Gone(); err != nil {
		return &tool.Problem{Message: t.gone(err)}
	}
	limit, advice := t.opts.MaxTimeout, ""
	switch {
	case in.RunInBackground:
		limit = max(limit, maxBackground)
	case hasBackground(c.Session):
		advice = ", or set run_in_background, whose maximum is " + millis(max(limit, maxBackground))
	}
	if in.Timeout > limit.Milliseconds() {
		return &tool.Problem{Message: fmt.Sprintf("timeout is %d ms; the maximum is %s. Give a shorter one%s.", in.Timeout, millis(limit), advice)}
	}
	return nil
}

// gone tells the user that the folder of the commands is gone, once for each that is, and returns what the
// model is told.
func (t *Tools) gone(err error) string {
	var gone *shellrun.GoneError
	if errors.As(err, &gone) && t.opts.Gone != nil {
		t.mu.Lock()
		told := slices.Contains(t.lost, gone.Dir)
		if !told {
			t.lost = append(t.lost, gone.Dir)
		}
		t.mu.Unlock()
		if !told {
			t.opts.Gone(gone.Dir)
		}
	}
	return fmt.Sprintf("The command was not run: %v. It would have run in another folder. Tell the user, who can restore the folder. If it is a worktree that you entered, leave it with ExitWorktree.", err)
}

// maxBackground is the longest timeout of a command in the background, which nobody
// waits for.
const maxBackground = 2 * time.Hour

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + " ms" }

// describe says what the model reads, with the limits of this session.
func (t *Tools) describe(s *tool.Session) string {
	limits := fmt.Sprintf("- `timeout` is in milliseconds: default %d, maximum %d", t.opts.Timeout.Milliseconds(), t.opts.MaxTimeout.Milliseconds())
	switch {
	case !hasBackground(s):
		limits += ". A command that runs longer is stopped."
	case t.opts.EndAtLimit:
		limits += fmt.Sprintf(" (%d in the background). A command that runs longer is stopped.", max(t.opts.MaxTimeout, maxBackground).Milliseconds())
	default:
		limits += fmt.Sprintf(" (%d in the background). A command that runs longer continues in the background.", max(t.opts.MaxTimeout, maxBackground).Milliseconds())
	}
	text := strings.Replace(bashText, "{limits}", limits, 1)
	if !hasBackground(s) {
		text = strings.Replace(text, " To keep a server or a watcher running, set `run_in_background`, not `&`.", "", 1)
	}
	return text
}

func (t *Tools) bashOutput() tool.Tool {
	return tool.New(tool.Def[outputInput, OutputOutput]{
		Name:        "BashOutput",
		Aliases:     []string{"TaskOutput"},
		SearchHint:  "read output of background shell command task",
		Description: outputText,
		Enabled:     hasBackground,
		Marks: func(outputInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Polling: true}
		},
		Validate: func(_ context.Context, _ *tool.Call, in outputInput) *tool.Problem {
			if _, err := regexp.Compile(in.Filter); err != nil {
				return &tool.Problem{Message: fmt.Sprintf("filter is not a valid regular expression: %v. Use RE2 syntax, or leave it out.", err)}
			}
			return t.unknown(in.BashID)
		},
		Permission: func(context.Context, *tool.Call, outputInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "the command was allowed to run"}
		},
		Run:       t.read,
		Render:    OutputOutput.Render,
		Summarize: func(in outputInput) string { return in.BashID },
		MaxResult: t.opts.MaxOutput + 5_000,
	})
}

// unknown is the problem with an id that no background command has.
func (t *Tools) unknown(id string) *tool.Problem {
	if task, ok := t.host.Task(id); ok && task.Background() {
		return nil
	}
	if work, transcript, ok := t.agent(id); ok {
		message := fmt.Sprintf("%s is an agent (%s), not a command. You are told when it has finished.", id, brief(work))
		if transcript != "" {
			message += " Its transcript so far is in " + transcript + "."
		}
		return &tool.Problem{Message: message}
	}
	var known []string
	for _, task := range t.host.Tasks() {
		if task.Background() {
			known = append(known, fmt.Sprintf("%s (%s: %s)", task.ID(), status(task), brief(task.Command())))
		}
	}
	message := fmt.Sprintf("There is no background command with the id %q. ", id)
	if len(known) == 0 {
		return &tool.Problem{Message: message + "There are none in this session: start one with Bash and run_in_background."}
	}
	return &tool.Problem{Message: message + "The background commands are: " + strings.Join(known, ", ") + "."}
}

func (t *Tools) read(ctx context.Context, c *tool.Call, in outputInput) (OutputOutput, error) {
	task, ok := t.host.Task(in.BashID)
	if !ok {
		return OutputOutput{}, tool.Errorf("%s", t.unknown(in.BashID).Message)
	}
	if in.Block {
		wait(ctx, task, time.Duration(in.Timeout)*time.Millisecond)
	}
	if err := ctx.Err(); err != nil { // what is new stays new
		return OutputOutput{}, err
	}
	out := OutputOutput{
		ShellID: task.ID(), Command: task.Command(), Status: status(task), Filter: in.Filter,
		Path: task.Output().Path(), Elapsed: time.Since(task.Started()).Milliseconds(), Others: t.others(task),
	}
	if task.Ended() {
		r := task.Result()
		out.ExitCode, out.Elapsed = &r.Status.Code, r.Elapsed.Milliseconds()
		t.heard(c.Agent, task)
	}
	var data []byte
	if in.Filter == "" {
		data, out.Lost = task.ReadNew(t.opts.MaxOutput)
	} else {
		data, out.Lost = task.ReadNewLines(t.opts.MaxOutput)
	}
	out.Unread = task.Unread()
	out.Stdout = string(data)
	if !t.opts.KeepEscapes {
		out.Stdout = shellrun.Clean(out.Stdout)
	}
	if in.Filter != "" {
		out.Stdout = matching(out.Stdout, regexp.MustCompile(in.Filter))
	}
	out.Stdout = strings.ToValidUTF8(out.Stdout, "\uFFFD")
	return out, nil
}

// wait waits for the end of a task, of the call or of the time.
func wait(ctx context.Context, task *shellrun.Task, most time.Duration) {
	if most <= 0 {
		most = 30 * time.Second
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-task.Done():
	case <-ctx.Done():
	case <-timer.C:
	}
}

func matching(text string, filter *regexp.Regexp) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if filter.MatchString(strings.TrimSuffix(line, "\n")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// heard reports that an agent is shown the end of a command of its own.
func (t *Tools) heard(agent string, task *shellrun.Task) {
	if t.opts.Heard != nil && task.Owner() == agent {
		t.opts.Heard(agent, task.ID())
	}
}

// others lists the other background commands that run, so that none is
// forgotten.
func (t *Tools) others(than *shellrun.Task) []string {
	var ids []string
	for _, task := range t.host.Tasks() {
		if task != than && task.Background() && !task.Ended() {
			ids = append(ids, task.ID())
		}
	}
	return ids
}

// box is what confines a call's command; nil if nothing does.
func (t *Tools) box(c *tool.Call) *sandbox.Spec {
	if t.opts.Box == nil {
		return nil
	}
	return t.opts.Box(c.Confinement).Hiding(c.Hidden)
}

// confined says what the command of a call is held to.
func (t *Tools) confined(o *Output, c *tool.Call, box *sandbox.Spec) {
	switch o.Confinement = c.Confinement; {
	case o.Confinement == "":
	case box == nil:
		o.Confinement, o.Sandbox = tool.Unconfined, sandbox.TierNone.String()
	case box.Thin: // which only this holds
		o.Sandbox = sandbox.TierBox.String()
	default:
		o.Sandbox = t.host.Tier(box.Network).Kind.String() // it was found to start the command
	}
}

// Refused returns what the sandbox prevented a command of an agent from doing; "" if it
// prevented nothing, or the command has not run. It is shown to a user who is asked to let the
// command run outside the sandbox.
func (t *Tools) Refused(agent, command string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range slices.Backward(t.refused) {
		if r.agent == agent && r.command == command {
			return r.wanted
		}
	}
	return ""
}

func (t *Tools) remember(r refusedCommand) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused = append(t.refused, r); len(t.refused) > maxRefused {
		t.refused = slices.Delete(t.refused, 0, 1)
	}
}

// confinedEnd says what the sandbox has kept a command from, if that is why it
// failed, and how it can run outside if the user can be asked.
func (t *Tools) confinedEnd(o *Output, agent string, in Input, box *sandbox.Spec, s shellrun.Status) {
	if o.Confinement == "" || o.Confinement == tool.Unconfined {
		return
	}
	o.Sandbox = s.Tier.String()
	o.withheld(box, s)
	if o.Confinement == tool.Held || o.ExitCode == 0 || o.CodeMeaning != "" {
		return
	}
	var closed []string
	if box != nil {
		closed = box.Deny
	}
	wanted := o.wanted(s.Refused, closed)
	if wanted == "" {
		return
	}
	t.remember(refusedCommand{agent, in.Command, wanted})
	where := "ran in a sandbox where it can only write in the project and reach the hosts that the settings allow"
	if o.Confinement == tool.ReadOnly {
		where = "was allowed as read-only, and ran in a sandbox without write access or network"
	}
	note := fmt.Sprintf("The command %s. It tried to %s.", where, wanted)
	if t.opts.Unsandboxed && !in.DangerouslyDisableSandbox {
		note += " If it needs that, call Bash again with dangerouslyDisableSandbox set to true. Such a call needs the user's approval."
	}
	o.Notes = append(o.Notes, note)
}

// analyze finds out about a command, as a [tool.Def] does. A command that the judge has rendered
// from an analysis is the one that this analysis is about.
func (t *Tools) analyze(c *tool.Call, in Input, before *tool.Facts) any {
	f := &facts{in: in, dir: cmp.Or(c.Dir, t.Dir(c.Agent))}
	if before != nil {
		if old, ok := before.Analysis.(*facts); ok && old.dir == f.dir && old.analysis != nil && old.analysis.ReadOnly && old.analysis.Run == in.Command {
			f.analysis = old.analysis
		}
	}
	if f.analysis == nil && t.opts.Analyze != nil {
		f.analysis = t.opts.Analyze(in.Command, f.dir)
	}
	if sub, ok := parseSed(in.Command); ok && t.opts.Edit != nil && !in.RunInBackground {
		f.sed, f.file = &sub, sub.file
		if !filepath.IsAbs(f.file) {
			f.file = filepath.Join(f.dir, f.file)
		}
	}
	return f
}

// parseSed recognises a command that is one plain sed -i of one substitution on
// one file. What it does not recognise is not an error.
func parseSed(command string) (substitution, bool) {
	if !strings.Contains(command, "sed") { // most commands
		return substitution{}, false
	}
	args, ok := soleCommand(command)
	if !ok || len(args) < 4 || args[0] != "sed" {
		return substitution{}, false
	}
	var inPlace, extended bool
	var script string
	var rest []string
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-i" || arg == "--in-place":
			inPlace = true
		case arg == "-E" || arg == "-r" || arg == "--regexp-extended":
			extended = true
		case arg == "-e" && script == "" && i+1 < len(args):
			i++
			script = args[i]
		case strings.HasPrefix(arg, "-"):
			return substitution{}, false
		default:
			rest = append(rest, arg)
		}
	}
	if script == "" && len(rest) > 0 {
		script, rest = rest[0], rest[1:]
	}
	if !inPlace || len(rest) != 1 || rest[0] == "" {
		return substitution{}, false
	}
	sub, ok := parseSubstitution(script, extended)
	sub.file = rest[0]
	return sub, ok
}

// facts returns what is known of a call, which is found out now if nobody has yet.
func (t *Tools) facts(c *tool.Call) *facts {
	if c.Facts != nil {
		if f, ok := c.Facts.Analysis.(*facts); ok {
			return f
		}
	}
	var in Input
	_ = json.Unmarshal(c.Input, &in) // of an input that was not checked, what can be read counts
	return t.analyze(c, in, nil).(*facts)
}

func (t *Tools) marks(c *tool.Call) tool.Marks {
	f := t.facts(c)
	if f.in.RunInBackground || f.analysis == nil || !f.analysis.ReadOnly {
		return tool.Marks{}
	}
	// A sibling must not start, or be judged, while the directory may change.
	return tool.Marks{ReadOnly: true, ConcurrencySafe: !moves.MatchString(f.in.Command), Effect: tool.Pure}
}

// plain says in which environment the command of a call changes nothing where it starts, and
// with which words it needs no shell; nil if it may change something.
func (t *Tools) plain(c *tool.Call) func(dir string) (env, words []string) {
	if t.opts.Analyze == nil || t.opts.Harden == nil {
		return nil
	}
	return func(dir string) (env, words []string) {
		f := t.facts(c)
		a := f.Analysis(dir)
		if a == nil { // the directory is gone, and the command runs in another one
			a = t.opts.Analyze(f.in.Command, dir)
		}
		if !a.ReadOnly {
			return nil, nil
		}
		env = t.opts.Harden(dir)
		if t.box(c) != nil {
			env = shell.Confined(env)
		}
		return env, a.Words
	}
}

func (t *Tools) killShell() tool.Tool {
	return tool.New(tool.Def[killInput, killOutput]{
		Name:        "KillShell",
		Aliases:     []string{"KillBash", "TaskStop"},
		SearchHint:  "stop end kill background shell command task",
		Description: killText,
		Enabled:     hasBackground,
		Marks:       func(killInput) tool.Marks { return tool.Marks{Effect: tool.Idempotent} },
		Validate: func(_ context.Context, _ *tool.Call, in killInput) *tool.Problem {
			if _, _, ok := t.agent(in.ShellID); ok {
				return nil
			}
			return t.unknown(in.ShellID)
		},
		Permission: func(context.Context, *tool.Call, killInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "it belongs to this session"}
		},
		Run:         t.kill,
		Render:      func(out killOutput) tool.Result { return tool.Text(out.Message) },
		Summarize:   func(in killInput) string { return in.ShellID },
		OnInterrupt: tool.InterruptBlock,
	})
}

func (t *Tools) kill(_ context.Context, _ *tool.Call, in killInput) (killOutput, error) {
	if work, _, ok := t.agent(in.ShellID); ok {
		return t.killAgent(in.ShellID, work), nil
	}
	task, ok := t.host.Task(in.ShellID)
	if !ok {
		return killOutput{}, tool.Errorf("%s", t.unknown(in.ShellID).Message)
	}
	out := killOutput{TaskID: task.ID(), TaskType: taskType, Command: task.Command()}
	if task.Ended() {
		out.Message = fmt.Sprintf("%s had already ended: %s, exit code %d.", task.ID(), status(task), task.Result().Status.Code)
		return out, nil
	}
	r := task.Stop()
	out.Message = fmt.Sprintf("%s (%s) was stopped with everything it started.", task.ID(), brief(task.Command()))
	if len(r.Status.Left) > 0 {
		out.Message += fmt.Sprintf(" These processes could not be stopped: %v.", r.Status.Left)
	}
	return out, nil
}

// killAgent ends the work of an agent. What it has said so far comes with the
// notification of its end.
func (t *Tools) killAgent(id, work string) killOutput {
	out := killOutput{TaskID: id, TaskType: agentType, Message: fmt.Sprintf("The agent %s (%s) was no longer running.", id, brief(work))}
	if t.opts.Agents.Stop(id) {
		out.Message = fmt.Sprintf("The agent %s (%s) is being stopped. It can be continued with SendMessage.", id, brief(work))
	}
	return out
}

// agent looks for an agent in the background.
func (t *Tools) agent(id string) (work, transcript string, ok bool) {
	if t.opts.Agents == nil {
		return "", "", false
	}
	return t.opts.Agents.About(id)
}

func (t *Tools) monitor() tool.Tool {
	return tool.New(tool.Def[monitorInput, MonitorOutput]{
		Name:        "Monitor",
		SearchHint:  "wait until background command output line matches ready exit watch log file changes created",
		Description: monitorText,
		Enabled:     hasBackground,
		Marks: func(monitorInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Polling: true}
		},
		Validate: func(_ context.Context, _ *tool.Call, in monitorInput) *tool.Problem {
			if _, err := regexp.Compile(in.Pattern); err != nil {
				return &tool.Problem{Message: fmt.Sprintf("pattern is not a valid regular expression: %v. Use RE2 syntax, or leave it out.", err)}
			}
			switch {
			case in.BashID == "" && in.File == "":
				return &tool.Problem{Message: "bash_id or file_path is missing: give the command or the file to wait for, or both."}
			case in.BashID == "" && in.Pattern != "":
				return &tool.Problem{Message: "pattern matches lines of a command's output. Give bash_id as well, or leave pattern out."}
			case in.BashID == "":
				return nil
			}
			return t.unknown(in.BashID)
		},
		Paths: func(_ *tool.Call, in monitorInput) tool.Paths {
			if in.File == "" {
				return tool.Paths{}
			}
			return tool.Paths{Reads: []string{in.File}}
		},
		Permission: func(_ context.Context, _ *tool.Call, in monitorInput) tool.Verdict {
			if in.File != "" {
				return tool.Verdict{} // that is for the rules about files
			}
			return tool.Verdict{Behavior: tool.Allow, Reason: "the command was allowed to run"}
		},
		Run:    t.await,
		Render: MonitorOutput.render,
		Summarize: func(in monitorInput) string {
			return strings.Join(strings.Fields(in.BashID+" "+in.Pattern+" "+in.File), " ")
		},
		Deferred: true,
	})
}

func (t *Tools) await(ctx context.Context, c *tool.Call, in monitorInput) (MonitorOutput, error) {
	w := &monitorCall{tools: t, pattern: in.Pattern, began: time.Now(), out: MonitorOutput{Event: eventTimeout}}
	if in.BashID != "" {
		task, ok := t.host.Task(in.BashID)
		if !ok {
			return MonitorOutput{}, tool.Errorf("%s", t.unknown(in.BashID).Message)
		}
		w.task, w.out.ShellID = task, task.ID()
		t.mu.Lock()
		w.at = t.watched[watch{task.ID(), in.Pattern}]
		t.mu.Unlock()
	}
	if in.File != "" {
		path := in.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(cmp.Or(c.Dir, t.Dir(c.Agent)), path)
		}
		w.file, w.out.FilePath = newAwaited(path), path
	}
	most := time.Duration(in.Timeout) * time.Millisecond
	if most <= 0 {
		most = time.Minute
	}
	if err := w.until(ctx, most); err != nil {
		return MonitorOutput{}, err
	}
	if w.out.ExitCode != nil {
		t.heard(c.Agent, w.task)
	}
	return w.out, nil
}

// preview shows what the call would change: an edit by sed without running
// anything, any other command by running it where its effects reach nothing.
func (t *Tools) preview(ctx context.Context, c *tool.Call, in Input) (*tool.Preview, error) {
	if p, err := t.previewSed(ctx, c); p != nil || err != nil {
		return p, err
	}
	p := t.find(c, in)
	if p == nil && (t.opts.Previews == nil || c.Confinement != tool.Previewed) {
		return nil, nil
	}
	if p == nil {
		p = t.runAside(ctx, c, in)
	}
	if p.err != nil || p.ran == nil {
		return nil, p.err
	}
	return p.ran.Preview(ctx)
}

// find returns what ran for the call already.
func (t *Tools) find(c *tool.Call, in Input) *pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.pending[pendingCall{c.Agent, c.ID}]; p != nil && !p.over && p.command == in.Command {
		return p
	}
	return nil
}

// Previewed reports whether a call has a change that waits to be applied.
func (t *Tools) Previewed(call string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, p := range t.pending {
		if k.id == call && p.ran != nil && !p.over {
			return true
		}
	}
	return false
}

// runAside runs the command where its effects reach nothing. What it changed is kept until
// the call ends.
func (t *Tools) runAside(called context.Context, c *tool.Call, in Input) *pending {
	p := &pending{command: in.Command, drop: func() error { return nil }}
	ctx, cancel := context.WithCancelCause(called)
	defer cancel(nil)
	waiting := &promptWatch{found: func() { cancel(errPrompt) }}
	p.ran, p.err = t.opts.Previews.Run(ctx, c, t.shell(c.Agent), shellrun.Request{
		Command: in.Command, Description: in.Description, Tag: c.UseID, Owner: c.Agent, Timeout: t.limit(in),
		OnProgress: func(p shellrun.Progress) {
			c.Report(tool.BashProgress{Output: p.Last, Lines: p.Total.Lines, Bytes: p.Total.Bytes, Elapsed: p.Elapsed})
			waiting.see(p)
		},
	})
	if p.ran != nil && p.err == nil {
		if wanted := cmp.Or(p.ran.Wanted(), t.missed(p.ran.Task())); wanted != "" {
			p.err = errors.New(wanted)
		}
	}
	if p.err != nil && p.ran != nil { // it is asked about as a command that has not run
		p.err = errors.Join(p.err, p.ran.Drop())
		p.ran = nil
	}
	if p.ran != nil {
		p.drop = sync.OnceValue(p.ran.Drop)
	}
	key := pendingCall{c.Agent, c.ID}
	t.mu.Lock()
	old := t.pending[key]
	t.pending[key] = p
	t.mu.Unlock()
	if old != nil {
		_ = old.drop() // what stays is swept later
	}
	context.AfterFunc(called, func() { _ = t.dropPreview(key, p) })
	return p
}

// missed says what a command that failed needed and could not have in a preview, as
// far as what it printed shows; "" for nothing.
func (t *Tools) missed(task *shellrun.Task) string {
	if task.Result().Status.Code == 0 {
		return ""
	}
	out, _ := t.output(task)
	wanted := out.wanted(nil, nil)
	if wanted == "" && missing().MatchString(lastBytes(out.Stdout)) {
		wanted = "use a service or process of this machine"
	}
	if wanted == "" {
		return ""
	}
	return "it tried to " + wanted + ", which a preview does not allow"
}

// limit is how long a command may run.
func (t *Tools) limit(in Input) time.Duration {
	if in.Timeout > 0 {
		return time.Duration(in.Timeout) * time.Millisecond
	}
	return t.opts.Timeout
}

// take returns what ran for the call already, once.
func (t *Tools) take(c *tool.Call, in Input) *pending {
	p := t.find(c, in)
	if p != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if p.over {
			return nil
		}
		delete(t.pending, pendingCall{c.Agent, c.ID})
	}
	return p
}

// applyPreview makes the change of a command that ran already.
func (t *Tools) applyPreview(ctx context.Context, c *tool.Call, in Input, p *pending) (Output, error) {
	defer p.drop()
	shown, err := p.ran.Preview(ctx)
	if err == nil {
		err = c.Approve(shown)
	}
	if err == nil && len(c.Dropped) == 0 {
		err = p.ran.Apply(ctx, c.ID, c.Dropped)
	}
	if errors.Is(err, tool.ErrUnapproved) {
		return Output{}, err
	}
	if err != nil {
		return Output{}, tool.Errorf("The command ran, but its changes could not be applied: %w.", err)
	}
	task := p.ran.Task()
	out, _ := t.output(task)
	t.warn(&out)
	out.Confinement, out.Sandbox = tool.Previewed, task.Result().Status.Tier.String()
	out.ended(in.Command, task.Result(), t.limit(in))
	out.withheld(p.ran.Box(), task.Result().Status)
	for _, n := range shown.Notes {
		if strings.HasPrefix(n, "Outside the project") {
			out.note("%s", n)
		}
	}
	if len(c.Dropped) > 0 {
		out.NotDone = fmt.Sprintf("Not applied: none of the command's changes were made. %s: %s.", c.Dropped[0].Path, c.Dropped[0].Why)
		out.Notes = append(out.Notes, droppedNote(c.Dropped))
	}
	failed := out.ExitCode != 0 && out.CodeMeaning == "" && len(shown.Files) == 0
	if t.opts.Unsandboxed && (failed || out.wanted(nil, nil) != "" || missing().MatchString(lastBytes(out.Stdout))) {
		out.note("%s", asideNote)
	}
	return out, nil
}

// droppedNote says which files of a change were not changed, and why.
func droppedNote(list []tool.Dropped) string {
	const most = 50
	var b strings.Builder
	b.WriteString("The command ran in a preview, and none of its changes were applied: these files are as they were.")
	repositories := map[string]bool{}
	for i, d := range list {
		if i == most {
			fmt.Fprintf(&b, "\n- and %d more", len(list)-most)
			break
		}
		if top, _, git := strings.Cut(d.Path, "/.git/"); git { // its files mean nothing one by one
			if d.Path = top + "/.git"; repositories[d.Path] {
				continue
			}
			repositories[d.Path] = true
		}
		fmt.Fprintf(&b, "\n- %s: %s", d.Path, d.Why)
	}
	return b.String()
}

// dropPreview forgets what a call that is over left. It is known until it is gone, so that
// the end of the session waits for it.
func (t *Tools) dropPreview(key pendingCall, p *pending) error {
	t.mu.Lock()
	mine := t.pending[key] == p
	p.over = p.over || mine
	t.mu.Unlock()
	if !mine {
		return nil
	}
	err := p.drop()
	t.mu.Lock()
	if t.pending[key] == p {
		delete(t.pending, key)
	}
	t.mu.Unlock()
	if err != nil {
		return fmt.Errorf("could not discard a preview: %w", err)
	}
	return nil
}

// dropPreviews forgets what the calls of some agents left.
func (t *Tools) dropPreviews(of func(agent string) bool) error {
	t.mu.Lock()
	left := maps.Clone(t.pending)
	t.mu.Unlock()
	var failed []error
	for key, p := range left {
		if of(key.agent) {
			failed = append(failed, t.dropPreview(key, p))
		}
	}
	return errors.Join(failed...)
}

func (t *Tools) run(ctx context.Context, c *tool.Call, in Input) (Output, error) {
	switch p := t.take(c, in); {
	case p != nil && p.ran != nil:
		return t.applyPreview(ctx, c, in, p)
	case p != nil && c.Approved != "" && c.Approved != tool.Unseen, c.Confinement == tool.Previewed: // what was approved is gone
		return Output{}, tool.ErrUnapproved
	case p == nil && c.Confinement != tool.ReadOnly: // which holds also for what is no process
		if out, made, err := t.applySed(ctx, c); made {
			return out, err
		}
	}
	if in.RunInBackground {
		return t.start(ctx, c, in)
	}
	limit := t.limit(in)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dir := t.Dir(c.Agent)
	box := t.box(c)
	waiting := &promptWatch{found: func() { cancel(errPrompt) }}
	task, err := t.shell(c.Agent).Run(ctx, shellrun.Request{
		Command: in.Command, Description: in.Description, Tag: c.UseID, Owner: c.Agent, Timeout: limit, Detach: t.detaches(c, in.Command), DetachFor: t.opts.Detached,
		Foreground: c.Foreground, Plain: t.plain(c), Box: box,
		OnProgress: func(p shellrun.Progress) {
			c.Report(tool.BashProgress{Output: p.Last, Lines: p.Total.Lines, Bytes: p.Total.Bytes, Elapsed: p.Elapsed})
			waiting.see(p)
		},
	})
	if err != nil {
		return Output{}, t.notStarted(err)
	}
	ended := task.Ended() // asked first, so that the output of an ended one is whole
	out, shown := t.output(task)
	t.confined(&out, c, box)
	if p := task.Progress(); !p.EndsLine && (!ended || task.State() == shellrun.TimedOut) && questions().MatchString(lastLine(p.Last)) {
		out.note("%s", promptHint)
	}
	if !ended {
		task.MarkRead(shown)
		if out.MovedByUser = task.Released(); out.MovedByUser {
			out.note("The user moved the command to the background, id %s. You will be told when it ends.", task.ID())
		} else {
			out.TimedOutAfterMS = limit.Milliseconds()
			unit := ""
			if in.Timeout > 0 && limit < 10*time.Second {
				unit = " (timeout is in milliseconds)"
			}
			out.note("The command did not finish within %v%s and continues in the background (id %s). It will be stopped after another %v. You will be told when it ends.", limit, unit, task.ID(), t.opts.Detached)
		}
		out.inBackground(task)
		return out, nil
	}
	t.warn(&out)
	out.ended(in.Command, task.Result(), limit)
	if c.Foreground && task.State() == shellrun.TimedOut && t.detaches(c, in.Command) {
		out.note("It was not moved to the background, because it ran without asking while permission rules keep files from being read. Set a longer timeout, or run it with run_in_background, which needs approval.")
	}
	t.confinedEnd(&out, c.Agent, in, box, task.Result().Status)
	if errors.Is(context.Cause(ctx), errPrompt) {
		out.Interrupted = false
		out.note("%s", promptAdvice)
	}
	if t.opts.Shown != nil && out.ExitCode == 0 && out.PersistedPath == "" && !out.Interrupted {
		t.opts.Shown(c.Agent, dir, in.Command, out.Stdout)
	}
	if out.Interrupted { // the call has no outcome, but what was written is not lost
		return Output{}, tool.Errorf("%s", out.Render().Text())
	}
	return out, nil
}

// start runs a command in the background.
func (t *Tools) start(ctx context.Context, c *tool.Call, in Input) (Output, error) {
	box := t.box(c)
	task, err := t.shell(c.Agent).Start(ctx, shellrun.Request{
		Box: box, Command: in.Command, Description: in.Description, Tag: c.UseID, Owner: c.Agent, Timeout: time.Duration(in.Timeout) * time.Millisecond,
	})
	if err != nil {
		return Output{}, t.notStarted(err)
	}
	var out Output
	t.confined(&out, c, box)
	out.note("The command is running in the background, id %s. You will be told when it ends.", task.ID())
	out.inBackground(task)
	return out, nil
}

func (t *Tools) notStarted(err error) error {
	var gone *shellrun.GoneError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &gone):
		return tool.Errorf("%s", t.gone(err))
	}
	return tool.Errorf("Could not start the command: %w.", err)
}

// detaches reports whether a command that reaches its time limit continues in the
// background: not one that sleeps on purpose, and only where the model can deal
// with background commands.
func (t *Tools) detaches(c *tool.Call, command string) bool {
	return !t.opts.EndAtLimit && hasBackground(c.Session) && !(strings.Contains(command, "sleep") && lastCommand(command).is("sleep"))
}

// output is what a task has written so far, and how many bytes that is.
func (t *Tools) output(task *shellrun.Task) (out Output, shown int64) {
	e := task.Output().Excerpt(t.opts.MaxOutput, t.opts.KeepEscapes)
	out.Stdout = strings.TrimRight(e.Text, "\n")
	if e.Truncated {
		out.PersistedPath, out.PersistedSize = e.Path, e.Total.Bytes
	}
	return out, e.Total.Bytes
}

// warn notes, once, that commands run without the user's profile.
func (t *Tools) warn(o *Output) {
	if err := t.host.Warning(); err != nil {
		t.warned.Do(func() { o.note("Commands run without the functions, aliases and PATH of the user's shell: %v.", err) })
	}
}

// sedEdit returns the substitution that a plain sed -i makes, and the file; nil for any other
// command, which runs as it is.
func (t *Tools) sedEdit(c *tool.Call) (*substitution, string) {
	f := t.facts(c)
	if f.sed == nil {
		return nil, ""
	}
	// sed replaces a link by a file, gives a file with several names one of its own, and edits
	// nothing but files.
	if info, err := disk.OS().Lstat(f.file); err != nil || !info.Mode.IsRegular() || info.Links > 1 {
		return nil, ""
	}
	return f.sed, f.file
}

// paths are known of a sed -i alone: of other commands the rules find out
// themselves what they can.
func (t *Tools) paths(c *tool.Call, _ Input) tool.Paths {
	if sub, file := t.sedEdit(c); sub != nil {
		return tool.Paths{Writes: []string{file}}
	}
	return tool.Paths{}
}

func (t *Tools) previewSed(ctx context.Context, c *tool.Call) (*tool.Preview, error) {
	sub, file := t.sedEdit(c)
	if sub == nil {
		return nil, nil
	}
	p, err := t.opts.Edit.Preview(ctx, c, file, sub.apply)
	if err != nil {
		return nil, nil // it runs as a command, whose effect is not known
	}
	return p, nil
}

// permission asks about a plain sed -i as the edit it is. The rules have the last
// word on it, as on every other command, of which this tool has no view.
func (t *Tools) permission(ctx context.Context, c *tool.Call, _ Input) tool.Verdict {
	p, _ := t.previewSed(ctx, c)
	if p == nil {
		return tool.Verdict{}
	}
	message := "The command would change nothing."
	for _, f := range p.Files {
		message = fmt.Sprintf("The command edits %s.", f.Path)
	}
	return tool.Verdict{Behavior: tool.Ask, Message: message, Reason: "it edits a file"}
}

// applySed makes the edit that a sed -i is; made is false for any other command.
func (t *Tools) applySed(ctx context.Context, c *tool.Call) (out Output, made bool, err error) {
	sub, file := t.sedEdit(c)
	p, _ := t.previewSed(ctx, c)
	if sub == nil || p == nil {
		err := c.Approve(nil) // what was approved as an edit does not run as something else
		return Output{}, err != nil, err
	}
	if err := t.opts.Edit.Apply(ctx, c, file, sub.apply); err != nil {
		if errors.Is(err, tool.ErrUnapproved) {
			return Output{}, true, err
		}
		return Output{}, true, tool.Errorf("The sed edit of %s was not made: %w.", file, err)
	}
	return Output{NoOutputExpected: true}, true, nil
}
