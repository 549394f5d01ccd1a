package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/harness/sysprompt"
	"github.com/haftdev/haft/internal/harness/workdir"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/knowledge/instructions"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/shell/shown"
	"github.com/haftdev/haft/internal/text/secret"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/lsp"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	language "github.com/haftdev/haft/internal/world/lsp"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A World is everything that tools act on in a project, and the policy that judges them.
// Nothing is started or read before a tool needs it. Its fields must not be modified.
type World struct {
	rules

	Files  *workspace.Workspace
	Shell  *bash.Tools
	Search *search.Searcher
	Hooks  *hook.Runner
	Crew   *crew.Crew

	builtins builtin.World // what tools act on outside of a conversation
	confined *confiner
	nested   *sysprompt.Nested
	ahead    *sysprompt.Ahead // nil if nothing is looked up ahead
	running  running
	keeper   atomic.Pointer[checkpoint.Keeper] // of the session; nil without one
	unsaved  atomic.Bool                       // the session writes nothing

	// asksModel asks the model of the conversation for a hook; nil without one.
	asksModel atomic.Pointer[func(context.Context, hook.Question) (string, error)]
}

// Open opens the project around a folder.
func Open(o *Options) (*World, error) {
	p, err := project.Open(o)
	if err != nil {
		return nil, err
	}
	lead, err := p.FindLead()
	if err != nil {
		return nil, err
	}
	ahead := lookAhead(p, lead)
	w, err := open(p, lead, ahead)
	if err != nil {
		ahead.Stop()
	}
	return w, err
}

// lookAhead begins to look at the repository if a prompt waits. A hook that runs first, such as one of the agent that leads,
// may change it, and then it is too early.
func lookAhead(p *project.Project, lead *agentdef.Definition) *sysprompt.Ahead {
	if !p.Options.Prompted || p.Options.ToolHost != nil || lead != nil || len(p.Hooks.List()) > 0 {
		return nil
	}
	return sysprompt.LookAhead(p.Guard.Cwd())
}

// open opens a project whose settings are read, and which has this main agent.
func open(p *project.Project, lead *agentdef.Definition, ahead *sysprompt.Ahead) (*World, error) {
	opts, err := p.Policy()
	if err == nil {
		err = p.BadGuards(opts)
	}
	if err != nil {
		return nil, err
	}
	w := &World{rules: rules{setup: setup{Project: p, lead: lead}, link: link.New(p.Options.Notice)}, ahead: ahead}
	w.running.link = w.link
	w.verdicts = sync.OnceValues(p.AuditLog)
	w.nested = sysprompt.NewNested(func() *sysprompt.Source { return w.told("", nil) })
	if w.Files, err = workspace.Open(p.Dir, &workspace.Options{Add: p.Guard.Roots()[1:], Home: p.Home, Kept: p.Kept.Holds, PlanFile: p.Kept.PlanFile, Tmp: p.Tmp, OnChange: w.changing, OnRead: w.wasRead, Unsaved: p.Options.Unsaved}); err != nil {
		return nil, err
	}
	commands := p.Shell()
	w.host = shellrun.NewHost(&shellrun.Options{Reexec: p.Options.Reexec, Environ: commands.Environ, EnvNames: commands.Pass, Project: p.Guard.Roots(), Spool: p.Kept.Spool(), Hold: w.link.Hold, OnBackground: w.backgrounded, OnEnd: w.ended})
	if err := p.Boxes.Confinable(func() sandbox.Tier { return w.host.Tier(sandbox.Offline) }); err != nil {
		return nil, errors.Join(err, w.host.Close(), w.Files.Close())
	}
	w.confined = &confiner{project: p, engine: func() *permission.Engine { return w.Engine }, host: w.host}
	aside := w.newPreviews(w.confined.box)
	w.Shell = bash.New(w.host, &bash.Options{
		Box: w.confined.box, Unsandboxed: p.Counts.Sandbox().Unsandboxed,
		Dir: p.Guard.Cwd(), Environ: commands.Environ, Edit: builtin.SedEdits(w.Files),
		Analyze:  func(command, dir string) *shell.Analysis { return w.Engine.Policy().Analyze(command, dir) },
		Harden:   func(dir string) []string { return w.Engine.Policy().Harden(dir, commands.Environ) },
		Previews: aside, Agents: agents{w}, Heard: w.heard, Shown: w.wasShown, Gone: w.folderGone, KeepEscapes: p.Counts.Flag("bash", "keepEscapes"), EndAtLimit: p.Options.EndAtLimit || p.Counts.Flag("bash", "endAtTimeout"),
	})
	w.Search = search.New(w.searchOptions())
	opts.Dir, opts.Commands, opts.Sandbox.Works = w.Shell.Dir, shell.OS{}, w.confined.works
	opts.Sandbox.Boxed = func() bool { return w.host.Tier(sandbox.Offline).Kind == sandbox.TierBox }
	opts.Sandbox.Holds = w.host.Holds
	opts.Sandbox.Previews, opts.Sandbox.DropRest = aside.works, func() bool { return w.previewMode() == project.PreviewAuto }
	opts.Sandbox.Direct = func() bool { return p.Counts.Sandbox().AutoAllow && w.runsDirectly() }
	opts.Sandbox.Refused = w.Shell.Refused
	w.Engine = permission.NewEngine(opts)
	w.removeLeadRules = w.Engine.AddTemporary(project.Denials(lead)...)
	w.Hooks = hook.New(p.Hooks.List(), &hook.Options{
		Project: p.Dir,
		Common:  w.common,
		Caller:  func(agent string) string { return w.Crew.Caller(agent) },
		Check:   p.Hooks.MayRun,
		Run:     w.runHook,
		Ask:     w.askForHook,
		Report:  w.hookRan,
		Match: func(rule string, t *tool.Tool, c *tool.Call) (bool, error) {
			return w.Engine.Policy().Matches(rule, t, c)
		},
	})
	if err := errors.Join(w.initBuiltins(), w.deniesNothing()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// searchOptions let searches read files as the tools do, and keep what they learn about a
// folder for the next session.
func (w *World) searchOptions() *search.Options {
	o := &search.Options{Decode: w.Files.SearchText}
	if !w.Project.Counts.Flag("search", "noSavedIndex") {
		secrets := secret.Where{Roots: []string{w.Project.Dir}, Homes: []string{w.Project.Home}}
		o.Saved, o.Saves = project.SearchIndexes(), func() bool { return !w.unsaved.Load() }
		o.Private = func(path string) bool { return secrets.Look(path).Level != secret.Open }
	}
	return o
}

// backgrounded reports that a command continues in the background.
func (w *World) backgrounded(t *shellrun.Task) {
	w.running.began(t)
	w.link.Emit(agent.TaskChanged{Change: "started", Task: command(t)})
}

// wasRead records what an agent knows of a file, and finds the instructions of the file's
// folder.
func (w *World) wasRead(agent string, e readstate.Entry) {
	w.link.SaveSoon(stateReads+agent+" "+e.Path, e) // the result of the call that has read it follows
	w.nested.Saw(agent, e.Path)
}

// wasShown records the files whose text a command has printed or written unchanged.
func (w *World) wasShown(agent, dir, command, output string) {
	for _, p := range shown.Find(command) {
		text := output
		if p.Written != nil {
			text = *p.Written
		}
		for _, at := range []string{dir, w.Shell.Dir(agent)} { // the command may have moved first
			path := p.Path
			if !filepath.IsAbs(path) {
				path = filepath.Join(at, path)
			}
			if w.Files.SawLines(agent, w.Engine.Guard().Look(path), p.From, p.To, text) {
				break
			}
		}
	}
}

// changing is called with every change that a file tool is about to make.
func (w *World) changing(ctx context.Context, c workspace.Change) error {
	if k := w.keeper.Load(); k != nil {
		return k.OnChange(ctx, c)
	}
	return nil
}

// initBuiltins sets what tools act on outside of a conversation.
func (w *World) initBuiltins() (err error) {
	w.Crew = w.newCrew()
	w.builtins = builtin.World{
		Files: w.Files, Shell: w.Shell, Interpreters: repl.New(w.host, &repl.Options{Dir: w.Shell.Dir, Box: w.confined.box}), Search: w.Search, Crew: w.Crew, Servers: noServers{},
		Dir:      func() string { return w.Shell.Dir("") },
		Readable: w.MayRead, Searchable: w.maySearch,
		Mode:   func() string { return string(w.Engine.Policy().Mode()) },
		Tasks:  w.Project.Tasks(),
		Todos:  todo.NewList(nil),
		Notify: w.notifier(false), Schedule: schedule.New(nil), // which nothing starts
		Skills: w.Project.Library.Skills, MaySkill: w.mayUse("Skill", "skill"),
		Commands: w.Project.Library.Commands, MayCommand: w.mayUse("SlashCommand", "command"),
	}
	if w.builtins.Languages, err = w.languages(); err != nil {
		return err
	}
	if w.builtins.Web, err = w.Project.Web(); err != nil {
		return err
	}
	w.builtins.SearchWeb, err = w.Project.SearchWeb()
	return err
}

// Close ends every command and gives back what is held open.
func (w *World) Close() error {
	w.ahead.Stop()
	w.running.close()
	w.Crew.Close()
	w.Hooks.Close()
	err := errors.Join(w.Shell.DropPreviews(), w.host.Close(), w.Search.Close(), w.Files.Close())
	if log, failed := w.verdicts(); failed == nil {
		err = errors.Join(err, log.Close())
	}
	return err
}

// common is the input that hooks get for every event.
func (w *World) common(agent string) hook.Common {
	c := hook.Common{Cwd: w.Shell.Dir(agent), PermissionMode: string(w.Engine.Policy().Mode()), AgentID: agent, AgentType: w.Crew.Kind(agent)}
	if s := w.link.Journal(); s != nil {
		c.SessionID, c.TranscriptPath = s.ID(), s.Path()
	}
	if a := w.link.Agent(); a != nil {
		c.PromptID = a.Prompt()
		if effort := a.Effort(); effort != "" && agent == "" {
			c.Effort = &hook.Effort{Level: effort}
		}
	}
	return c
}

// Audit returns a recorder that writes every verdict into the audit log.
func (w *World) Audit() (sched.Recorder, error) {
	log, err := w.verdicts()
	if err != nil {
		return nil, err
	}
	return verdictRecorder{log, w}, nil
}

// endedCommands tells the model, once, which of its commands ended with an earlier process.
func (w *World) endedCommands(r *session.Restored) sysprompt.Reminder {
	left := slices.DeleteFunc(state[[]runningCommand](r, stateCommands), func(c runningCommand) bool { return c.Agent != "" })
	return func(context.Context, bool) []string {
		if len(left) == 0 {
			return nil
		}
		text := "These background commands ended when the session was closed. Start them again if they are still needed:" + listed(left)
		left = nil
		w.link.Save(stateCommands, w.running.now())
		return []string{text}
	}
}

// Seed records that the main conversation knows a file as it was at a time. A file that has
// changed since is not known.
func (w *World) Seed(path string, modified time.Time) error {
	facts := w.Files.Look(path)
	f, err := w.Files.Load(facts)
	if err != nil {
		return err
	}
	if f.Info.ModTime.Truncate(time.Millisecond).After(modified) {
		return nil
	}
	e := readstate.Entry{Path: f.Path, Hash: f.Hash, Size: f.Info.Size, ModTime: f.Info.ModTime, Base: f.Raw, Ranges: []readstate.Range{workspace.Whole}}
	if f.Text != nil {
		e.Encoding, e.EOL = f.Text.Encoding().String(), string(f.Text.EOL())
	}
	w.Files.Saw("", e)
	return nil
}

// Explain takes a call through the pipeline up to its verdict; see [sched.Scheduler.DryRun]. A
// call that would get no verdict is an error. A tool of an MCP server that is not in the set is
// judged by its name.
func (w *World) Explain(ctx context.Context, set *tool.Set, name string, input json.RawMessage) (Explanation, error) {
	p := w.Engine.Policy()
	if set.Lookup(name) == nil && strings.HasPrefix(name, "mcp__") {
		d := p.Decide(tool.Case{Call: &tool.Call{Tool: name, Input: input}})
		return Explanation{d, []string{"judged by the tool's name alone: its server was not started"}}, nil
	}
	var d permission.Decision
	seen := sched.New(&sched.Options{Dir: w.Shell.Dir, Judge: sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		d = p.Decide(c)
		return d.Verdict
	})}).DryRun(ctx, set, name, input)
	if out := seen.Refused; out != nil {
		return Explanation{}, errors.New(out.Result.Text())
	}
	e := Explanation{Decision: permission.Decision{Verdict: seen.Verdict, ReadOnly: d.ReadOnly}}
	if seen.Problem != nil {
		e.Notes = append(e.Notes, "it would not run with this input: "+seen.Problem.Message)
	}
	for _, r := range w.Hooks.Concerning(set.Lookup(name), seen.Call) {
		note := fmt.Sprintf("not run here, but could change the verdict: the %s hook %s", r.Event, r.Hook)
		if r.Origin != "" {
			note += " (" + r.Origin + ")"
		}
		e.Notes = append(e.Notes, note)
	}
	return e, nil
}

// askForHook puts the question of a hook to a model, or gives it to an agent.
func (w *World) askForHook(ctx context.Context, q hook.Question) (string, error) {
	ask := w.asksModel.Load()
	switch {
	case ask == nil:
		return "", errors.New("hooks that ask a model run only in a conversation")
	case !q.Agent:
		return (*ask)(ctx, q)
	}
	report := w.Crew.Run(ctx, subagent.Job{
		Caller: q.Caller, Description: "check a condition", Model: q.Model, Kind: general,
		Prompt: fmt.Sprintf("Check a condition for the %s hook of this session. Find out with your tools whether it is met, in as few steps as you can, and change nothing. %s\n\nThe condition, with the data of the event:\n%s", q.Event, hook.AnswerForm, q.Text),
	}, func(tool.AgentProgress) {})
	if report.Status != subagent.Completed {
		return "", fmt.Errorf("the agent did not finish (%s): %s", report.Status, cmp.Or(report.Why, report.Text))
	}
	return report.Text, nil
}

// instructionsLoaded tells the hooks which instructions an agent is told. They change nothing.
func (w *World) instructionsLoaded(ctx context.Context, agent, trigger string, files []instructions.File) {
	if !w.Hooks.Has("InstructionsLoaded") {
		return
	}
	var all sync.WaitGroup
	for _, f := range files {
		d := hook.InstructionsLoaded{
			FilePath: f.Path, MemoryType: memoryTypes[f.Source], LoadReason: "session_start", Globs: f.Globs, TriggerFilePath: trigger, ParentFilePath: f.IncludedBy,
		}
		switch {
		case f.Globs != nil:
			d.LoadReason = "path_glob_match"
		case f.IncludedBy != "":
			d.LoadReason = "include"
		case trigger != "":
			d.LoadReason = "nested_traversal"
		}
		all.Go(func() { w.Hooks.Fire(ctx, agent, d) })
	}
	all.Wait()
}

// taskCreated and taskCompleted let hooks prevent a change of the list of tasks.
func (w *World) taskCreated(ctx context.Context, agent string, t task.Task) error {
	return w.mayChangeTask(ctx, agent, hook.TaskCreated{Task: hookTask(t)})
}

func (w *World) taskCompleted(ctx context.Context, agent string, t task.Task) error {
	return w.mayChangeTask(ctx, agent, hook.TaskCompleted{Task: hookTask(t)})
}

func (w *World) mayChangeTask(ctx context.Context, agent string, d hook.Detail) error {
	if said := w.Hooks.Fire(ctx, agent, d); said.Blocked() || said.Stop {
		return errors.New(cmp.Or(said.Reason, said.StopReason, "it gave no reason"))
	}
	return nil
}

// languages makes the tool that asks language servers. They read the project, and are
// confined to that as far as this machine and the settings allow.
func (w *World) languages() (*lsp.Tools, error) {
	defs, err := w.Project.LanguageServers()
	if err != nil {
		return nil, err
	}
	confines := func() bool { return w.Project.Counts.Sandbox().Mode != settings.SandboxOff && w.confined.works() }
	servers := language.NewServers(w.host, &language.Options{
		Definitions: defs,
		Roots:       func() []string { return w.Engine.Guard().Roots() },
		Box: func() *sandbox.Spec {
			if !confines() {
				return nil
			}
			return w.confined.box(tool.ReadOnly)
		},
	})
	return lsp.New(&lsp.Options{Servers: servers, Show: w.maySearch, Confined: confines}), nil
}

// Nested runs calls that happen within others, such as the commands of a skill, through a
// separate pipeline: with the same rules, hooks and askers, plus the rules that the text
// grants itself for that one call. Such calls are not part of the conversation, so opts
// must have neither its feeds nor its journal.
func (w *World) Nested(opts sched.Options) prompt.Calls {
	return func(ctx context.Context, r prompt.Request) (tool.Result, error) {
		if r.Tool == "Bash" && w.Project.Counts.Flag("disableSkillShellExecution") {
			return tool.Result{}, errNoShell
		}
		o := opts
		o.Judge = w.lending(r.Allow)
		batch, use := &sched.BatchOptions{}, ""
		if r.Parent != nil {
			batch.Tools, batch.Agent, use = r.Parent.Tools, r.Parent.Agent, r.Parent.UseID
		}
		if batch.Tools == nil {
			batch.Tools = w.Pool(nil).Set(nil)
		}
		b := sched.New(&o).Start(ctx, batch)
		b.Add(use, r.Tool, r.Input)
		b.End()
		var out *sched.Outcome
		for out = range b.Outcomes() {
		}
		if out.Status != sched.Succeeded && out.Status != sched.Failed {
			if err := ctx.Err(); err != nil {
				return tool.Result{}, err
			}
			return tool.Result{}, errors.New(out.Result.Text())
		}
		return out.Result, nil
	}
}

// aside is the pipeline of calls that are not part of a conversation.
func (w *World) aside(o *TalkOptions, audit sched.Recorder) sched.Options {
	opts := sched.Options{Hooks: w.Hooks, Askers: []sched.Asker{w.Hooks}, Questions: o.questions, Recorder: audit, Output: w.Project.Results(), Dir: w.Shell.Dir}
	if o.Person != nil {
		opts.Askers = append(opts.Askers, o.Person)
	}
	return opts
}

// notifier tells the user something: through the front end, the hooks, and the desktop if
// there is one.
func (w *World) notifier(interactive bool) func(context.Context, string) []string {
	return func(ctx context.Context, text string) (ways []string) {
		w.link.Emit(agent.Notice{Level: "notice", Tag: agent.Push, Text: text})
		ways = []string{"program"}
		if interactive {
			ways = []string{"terminal"}
		}
		w.Hooks.Fire(ctx, "", hook.Notification{Message: text, Type: "push"})
		if w.notifyDesktop(ctx, text) {
			ways = append(ways, "desktop")
		}
		return ways
	}
}

// openSession finds or begins the session.
func (w *World) openSession(ctx context.Context, o *TalkOptions) (*session.Session, error) {
	store, dir := o.Sessions, w.Shell.Dir("")
	if store == nil {
		store = session.Open("")
	}
	id := o.Resume
	if o.Continue && id == "" {
		var err error
		switch id, err = store.Latest(dir); {
		case errors.Is(err, session.ErrNotFound):
			w.link.Emit(agent.Notice{Level: "notice", Text: "There is no session in this folder to continue. Starting a new one."})
		case err != nil:
			return nil, err
		}
	}
	switch {
	case id != "":
		s, err := store.Resume(ctx, id, &session.ResumeOptions{At: o.ResumeAt, Drops: o.Drops, Fork: o.Fork, NewID: o.ID, Cwd: dir, Version: o.Version})
		if errors.Is(err, session.ErrDrops) {
			return nil, fmt.Errorf("%s: %w", rejected, err)
		}
		if errors.Is(err, session.ErrNotFound) {
			return nil, &project.UsageError{Err: fmt.Errorf("%w. Run 'haft sessions list --all' to see the sessions", err)}
		}
		if errors.Is(err, session.ErrNoMessage) {
			return nil, &project.UsageError{Err: fmt.Errorf("%w. Run 'haft sessions show %s' for its messages", err, id)}
		}
		return s, err
	case o.Forget:
		return session.Memory(cmp.Or(o.ID, session.NewUUID())), nil
	}
	return store.Create(ctx, &session.CreateOptions{ID: o.ID, Cwd: dir, Version: o.Version})
}

// Pool returns the tools outside of a conversation. Calls runs what skills and commands ask
// for through the pipeline; nil lets them run nothing.
func (w *World) Pool(calls prompt.Calls) *Pool {
	builtins := w.builtins
	builtins.Calls = calls
	return &Pool{world: w, builtins: builtins, lead: w.lead}
}

// CallHooks are the hooks that see calls. If one of them changes a file that the call has
// just written, as a formatter does, that is not a change by another program: the model is
// shown it, and its next edit starts there. Language servers then check the result.
func (w *World) CallHooks() sched.Hooks {
	return diagnosing{formatters{w.Hooks, w}, w}
}

func (w *World) newPreviews(box func(tool.Confinement) *sandbox.Spec) *previews {
	return &previews{world: w, box: box}
}

// told is what the models of this world are told in addition to the prompts; earlier is
// what the conversation was reminded of before.
func (w *World) told(modelName string, earlier []string) *sysprompt.Source {
	return &sysprompt.Source{
		Project: w.Project, Model: modelName, Earlier: earlier, Ahead: w.ahead,
		Readable: w.MayShow, MaySkill: w.mayUse("Skill", "skill"), Dir: func() string { return w.Shell.Dir("") }, Warn: w.link.WarnKnowledge, Loaded: w.instructionsLoaded,
	}
}

// recallReads restores what the agents of a resumed session knew. Whether a file has
// changed is checked by its hash when it is edited; unchanged content is loaded as the base
// of merges.
func (w *World) recallReads(r *session.Restored) {
	room := int64(maxRecalled)
	for name, raw := range r.States {
		about, ok := strings.CutPrefix(name, stateReads)
		agent, path, _ := strings.Cut(about, " ")
		var e readstate.Entry
		if !ok || json.Unmarshal(raw, &e) != nil || e.Path != path || e.Hash == "" {
			continue
		}
		if facts := w.Files.Look(path); e.Size <= room && facts.Exists && facts.Info.Size == e.Size {
			if f, err := w.Files.Load(facts); err == nil && f.Hash == e.Hash {
				e.Base, room = f.Raw, room-e.Size
			}
		}
		w.Files.Seen(agent).Put(e)
		if agent == "" {
			w.nested.Saw(agent, path)
		}
	}
}

// keep returns the session with checkpoints; a session that is not on the disk has none. Steps
// is that of [TalkOptions].
func (w *World) keep(s *session.Session, steps func(*session.Session) sched.Recorder) (agent.Journal, *checkpoint.Keeper) {
	if s.Dir() == "" {
		w.keeper.Store(nil)
		return s, nil
	}
	k := checkpoint.New(w.Project.Dir, s, &checkpoint.Options{FileTools: fileTools, Noted: w.Shell.Previewed, Home: w.Project.Home, Writes: w.commandWrites, Tell: w.uncovered})
	w.keeper.Store(k)
	var next sched.Recorder = s
	if steps != nil {
		next = steps(s)
	}
	return journal{s, k.Recorder(next)}, k
}

// restorable reports whether a rewind restores all that a call would change: a change that
// was previewed is recorded as it is applied, and the files that a command names and does
// nothing else to are covered if the look at the tree covers them.
func (w *World) restorable(ctx context.Context, c *tool.Case) bool {
	k := w.keeper.Load()
	switch {
	case k == nil || w.Project.Options.ToolHost != nil:
		return false
	case c.Ran():
		return c.Unclear == nil
	}
	paths, ok := onlyWrites(analysisOf(c.Call))
	return ok && k.Restores(ctx, paths)
}

// onlyWrites returns the absolute paths that a command changes, if it was shown to do nothing
// else.
func onlyWrites(a *shell.Analysis) (paths []string, ok bool) {
	if a == nil || !a.Exact || a.Critical != "" || len(a.Allow) == 0 {
		return nil, false
	}
	writes := a.Writes
	for _, c := range a.Allow {
		if !c.Edit || len(c.Assigns) > 0 || c.More {
			return nil, false
		}
		writes = append(slices.Clip(writes), c.Edits...)
	}
	for _, w := range writes {
		name, known := fullName(w)
		if !known {
			return nil, false
		}
		paths = append(paths, name)
	}
	return paths, true
}

// settleWrites repairs what the writes of dead processes have left, of any session, and
// reports each.
func (w *World) settleWrites() {
	left, err := w.Files.Recover()
	if err != nil {
		w.link.Emit(agent.Notice{Level: "warning", Text: "Could not check for interrupted writes: " + err.Error()})
	}
	for _, l := range left {
		text := l.Path + ": " + l.Action
		if l.Saved != "" {
			text += ". Its content from before an interrupted write is in " + l.Saved
		}
		w.link.Emit(agent.Notice{Level: "warning", Text: text})
	}
}

// ended tells the model that a background command has ended. A command that an agent
// started is reported to that agent, and ends with it.
func (w *World) ended(t *shellrun.Task) {
	w.running.ended(t)
	a := w.link.Agent()
	if a == nil {
		return
	}
	task := command(t)
	task.Ended = time.Now()
	word, sentence := bash.Ending(t)
	task.Status, task.Summary = ends[word], sentence
	switch {
	case t.Owner() != "":
		w.Crew.Notify(t.Owner(), task)
		a.Emit(agent.TaskChanged{Change: "ended", Task: task})
	case task.Status == "stopped": // whoever stopped it knows
		a.Emit(agent.TaskChanged{Change: "ended", Task: task})
	default:
		a.Notify(task)
	}
}

// heard withdraws the report of a command's end, if an agent already knows it from a
// result.
func (w *World) heard(owner, id string) {
	if a := w.link.Agent(); owner == "" && a != nil {
		a.Heard(id)
	}
	w.Crew.Heard(owner, id)
}

// Talk begins or resumes a conversation. Closing it closes the world.
func (w *World) Talk(ctx context.Context, o *TalkOptions) (*Conversation, error) {
	var opts TalkOptions
	if o != nil {
		opts = *o
	}
	if err := w.Project.Intact(); err != nil {
		return nil, startingWithout(err)
	}
	journal, err := w.openSession(ctx, &opts)
	if err != nil {
		return nil, err
	}
	lead, err := w.resumeLead(state[string](journal.Restored(), stateLead))
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	if err := w.sameToolHost(state[string](journal.Restored(), stateToolHost)); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	follow(lead, &opts, journal.Restored())
	if err := w.leadHooks(lead); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	c := &Conversation{
		models: models{grants: grants{records: records{World: w, Began: time.Now()}}},
		dirs:   workdir.New(&workdir.Options{Root: w.Project.Dir, Shell: w.Shell, Interpreters: w.builtins.Interpreters, Link: w.link}), lead: lead, skills: skillTexts{link: w.link}, hooks: textHooks{world: w}, Version: opts.Version,
	}
	w.link.Begin(journal)
	c.questions = newQuestions(c, opts.here())
	if c.driver = opts.Driver; c.driver == nil {
		c.driver = undriven{c}
	}
	if opts.Person != nil {
		opts.Person, opts.questions = c.questions.person(opts.Person), c.questions.calls
	}
	if opts.MCP.Elicit != nil {
		opts.MCP.Elicit = c.questions.elicit(opts.MCP.Elicit)
	}
	if err := c.begin(ctx, &opts); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return c, nil
}

// startingWithout adds to the error about a settings file how a conversation starts without
// it.
func startingWithout(err error) error {
	var bad *project.UnreadableError
	if !errors.As(err, &bad) {
		return err
	}
	var rest []string
	for _, s := range bad.Rest {
		rest = append(rest, s.String())
	}
	if len(rest) == 0 {
		rest = []string{"''"}
	}
	return fmt.Errorf("%w, or start without it: --setting-sources %s", err, strings.Join(rest, ","))
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

// leadHooks lets the hooks of the agent that leads the conversation run, in all of it.
func (w *World) leadHooks(lead *agentdef.Definition) error {
	if lead == nil {
		return nil
	}
	t, err := w.definition(*lead)
	if err == nil {
		w.Hooks.Add(w.Project.Hooks.ForText(t))
	}
	return err
}

// errNoShell is what a text gets that may run nothing.
var errNoShell = errors.New("skills may not run commands: disableSkillShellExecution is set")

// stateReads is followed by the agent, a blank and the path: what the agent knows of the
// file. It tells a resumed session which files it does not have to read again.
const stateReads = "read:"

// maxRecalled limits the contents that are loaded when a session is resumed.
const maxRecalled = 16 << 20

// An Explanation says what the pipeline would decide about a call.
type Explanation struct {
	permission.Decision
	// Notes are what else matters: the tool's own objections to the call, and hooks that were
	// not run.
	Notes []string
}

// startPatience is how long an explanation waits for MCP servers that are starting.
const startPatience = 10 * time.Second

// memoryTypes are the words of hooks for where instructions are from.
var memoryTypes = map[settings.Source]string{settings.User: "User", settings.Project: "Project", settings.Local: "Local"}

func hookTask(t task.Task) hook.Task {
	return hook.Task{TaskID: t.ID, TaskSubject: t.Subject, TaskDescription: t.Description}
}
