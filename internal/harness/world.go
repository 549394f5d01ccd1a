package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/guard/audit"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/harness/sysprompt"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/shell/shown"
	"github.com/haftdev/haft/internal/text/secret"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/tool"
)

// A World is everything that tools act on in a project, and the policy that judges them.
// Nothing is started or read before a tool needs it. Its fields must not be modified.
type World struct {
	Project *project.Project
	Files   *workspace.Workspace
	Shell   *bash.Tools
	Search  *search.Searcher
	Engine  *permission.Engine
	Hooks   *hook.Runner
	Crew    *crew.Crew

	builtins builtin.World // what tools act on outside of a conversation
	host     *shellrun.Host
	confined *confiner
	link     *link.Link
	nested   *sysprompt.Nested
	ahead    *sysprompt.Ahead // nil if nothing is looked up ahead
	policies childPolicies
	running  running
	verdicts func() (*audit.Log, error)
	keeper   atomic.Pointer[checkpoint.Keeper] // of the session; nil without one
	answers  atomic.Int32                      // of type answering: who answers in the conversation
	unsaved  atomic.Bool                       // the session writes nothing

	// asksModel asks the model of the conversation for a hook; nil without one.
	asksModel atomic.Pointer[func(context.Context, hook.Question) (string, error)]

	// lead is the main agent chosen by the options or the settings; removeLeadRules removes
	// its denials, in case a session has another main agent.
	lead            *agentdef.Definition
	removeLeadRules func()
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
	w := &World{Project: p, lead: lead, link: link.New(p.Options.Notice), ahead: ahead}
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

// deniesNothing refuses a denial that a user has typed and that names no tool, because the
// user relies on it. Programs name tools of other versions, so their denials only cause a
// warning, and so do allow rules, which have no effect.
func (w *World) deniesNothing() error {
	if len(w.Project.Options.Disallowed)+len(project.Denials(w.lead)) == 0 || !w.Project.Options.Typed || w.Project.Options.IgnoreBadRules {
		return nil
	}
	for _, problem := range w.misnamed(w.lead) {
		if problem.Rule.Origin == project.CommandLine && problem.Rule.Behavior == tool.Deny {
			return &project.UsageError{Err: fmt.Errorf("the rule %q from the command line would deny nothing: %w", problem.Rule.Text, problem.Err)}
		}
	}
	return nil
}

// backgrounded reports that a command continues in the background.
func (w *World) backgrounded(t *shellrun.Task) {
	w.running.began(t)
	w.link.Emit(agent.TaskChanged{Change: "started", Task: command(t)})
}

func (w *World) folderGone(dir string) {
	w.link.Emit(agent.Notice{Level: "warning", Text: "The folder " + dir + " no longer exists or cannot be entered. Commands are refused until it is back."})
}

// hookRan tells the user about a hook that failed, and what a hook has to say. A program
// that defines hooks in code knows about those itself.
func (w *World) hookRan(r hook.Run) {
	if r.Failed() && !r.InCode {
		w.link.Warn("hook_failed", hookFault(r))
		w.countFailure(r)
	}
	if r.Message != "" && !r.InCode {
		w.link.Emit(agent.Notice{Level: "notice", Tag: "hook", Text: r.Message})
	}
	if told := w.Project.Options.HookRan; told != nil {
		told(r)
	}
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

// MayRead reports whether no rule denies that a file is read.
func (w *World) MayRead(path string) bool { return w.Engine.Policy().MayRead(path) }

// MayShow reports whether a file may be read for a model without asking the user: no rule
// denies it, and it holds no secrets.
func (w *World) MayShow(path string) bool { return w.Engine.Policy().MayShow(path) }

func (w *World) maySearch(path string) bool { return w.Engine.Policy().MaySearch(path) }

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
