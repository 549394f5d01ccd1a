package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/checkpoint"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/search"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/tool/builtin"
	"github.com/haftdev/haft/tool/mcpresource"
	"github.com/haftdev/haft/tool/task"
	"github.com/haftdev/haft/tool/todo"
	"github.com/haftdev/haft/workspace"
)

// A World is a project with everything that tools act on, and the policy that
// judges them. Nothing is started or read before a tool needs it.
type World struct {
	*Project
	builtin.World
	Engine  *permission.Engine
	Hooks   *hook.Runner
	host    *shellrun.Host
	talk    atomic.Pointer[agent.Agent] // what is told of the world's events
	notices notices

	conversation    atomic.Pointer[Conversation] // that agents work for
	keeper          atomic.Pointer[checkpoint.Keeper]
	plan            atomic.Pointer[string] // the last one that the person agreed to
	crew            *crew.Crew
	loading         loading // how tools are described to the conversation's model
	sets            sets
	removeLeadRules func()     // removes the denials of the agent that leads
	trees           sync.Mutex // while git makes or removes a worktree
}

// Open opens the project around a folder.
func Open(o *Options) (*World, error) {
	p, err := OpenProject(o)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.confinable(), p.findLead()); err != nil {
		return nil, err
	}
	opts, err := p.Policy()
	if err != nil {
		return nil, err
	}
	w := &World{Project: p}
	if w.Files, err = workspace.Open(p.Dir, &workspace.Options{Add: p.Guard.Roots()[1:], Home: p.Home, Kept: p.kept.holds, OnChange: w.changing, OnRead: w.wasRead}); err != nil {
		return nil, err
	}
	environ, pass := p.environment()
	w.host = shellrun.NewHost(&shellrun.Options{Reexec: p.opts.Reexec, Environ: environ, EnvNames: pass, Spool: p.kept.spool(), Hold: w.hold, OnBackground: w.backgrounded, OnEnd: w.ended})
	w.Shell = bash.New(w.host, &bash.Options{
		Dir: p.Guard.Cwd(), Environ: environ, ReadOnly: p.readOnly, Hardening: p.hardening, Edit: builtin.SedEdits(w.Files),
		Agents: agents{w}, Shown: w.wasShown, KeepEscapes: p.Counts.Flag("bash", "keepEscapes"), EndAtLimit: p.opts.EndAtLimit || p.Counts.Flag("bash", "endAtTimeout"),
	})
	w.World.Search = search.New(nil)
	w.World.Dir = func() string { return w.Shell.Dir("") }
	opts.Dir, opts.Commands = w.Shell.Dir, shell.OS{}
	w.Engine = permission.NewEngine(opts)
	w.removeLeadRules = w.Engine.AddTemporary(denials(p.lead)...)
	w.Mode = func() string { return string(w.Engine.Policy().Mode()) }
	w.Agreed = w.agreed
	w.Hooks = hook.New(p.hooks(), &hook.Options{
		Project: p.Dir,
		Common:  w.common,
		Check:   p.mayRun,
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

// initBuiltins sets what the tools act on beside files and commands.
func (w *World) initBuiltins() (err error) {
	w.crew = w.newCrew()
	w.Crew = w.crew
	w.World.Servers = resources{w}
	w.Tasks = w.tasks()
	w.Todos = todo.NewList(&todo.ListOptions{Changed: w.todosChanged})
	w.Skills, w.MaySkill = w.Library.Skills, w.mayUse("Skill", "skill")
	w.Commands, w.MayCommand = w.Library.Commands, w.mayUse("SlashCommand", "command")
	w.Readable = func(path string) bool { return w.Engine.Policy().MayRead(path) }
	if w.Web, err = w.web(); err != nil {
		return err
	}
	w.SearchWeb, err = w.searchWeb()
	return err
}

// hold is what outlives this process together with its commands: whoever resumes
// the session waits for it.
func (w *World) hold() (*os.File, error) {
	if c := w.conversation.Load(); c != nil {
		return c.Journal().Hold()
	}
	return nil, nil
}

// Close ends every command and gives back what is held open.
func (w *World) Close() error {
	w.crew.Close()
	w.Hooks.Close()
	return errors.Join(w.host.Close(), w.World.Search.Close(), w.Files.Close())
}

// common is what hooks are told of every event.
func (w *World) common(agent string) hook.Common {
	c := hook.Common{Cwd: w.Shell.Dir(agent), PermissionMode: string(w.Engine.Policy().Mode()), AgentID: agent, AgentType: w.crew.Kind(agent)}
	if talk := w.conversation.Load(); talk != nil {
		c.SessionID, c.TranscriptPath = talk.Journal().ID(), talk.Journal().Path()
	}
	return c
}

// Set assembles the pool as a session would, with the tools of others after haft's own.
func (w *World) Set(session *tool.Session, foreign ...tool.Tool) *tool.Set {
	return w.set(session, foreign, w.denied)
}

// SetForManualCall returns the set to judge a call by that a person has typed: set itself, or one
// that holds the tool even if a rule denies it wholly. A model need not know of such a
// tool, but who types its name is to hear which rule denies it.
func (w *World) SetForManualCall(name string, set *tool.Set, foreign ...tool.Tool) *tool.Set {
	if set.Lookup(name) == nil {
		if all := w.set(set.Session(), foreign, nil); all.Lookup(name) != nil {
			return all.Reveal(name)
		}
	}
	return set
}

func (w *World) set(session *tool.Session, foreign []tool.Tool, denied func(*tool.Tool) bool) *tool.Set {
	opts := w.loading.setOptions(session != nil && session.Flags[mcpresource.Flag])
	opts.Only, opts.Denied, opts.Redirect = w.only(), denied, w.opts.Redirect
	tools := w.Tools()
	for _, t := range tools {
		opts.Known = append(opts.Known, t.Name)
	}
	return tool.NewSet(session, tools, foreign, &opts)
}

// denied reports whether a rule denies every call of a tool: then the model need
// not know of it.
func (w *World) denied(t *tool.Tool) bool { return w.Engine.Policy().Denies(t) }

// tasks are those of this project outside of sessions, which have their own.
func (p *Project) tasks() *task.Store {
	sum := sha256.Sum256([]byte(p.Dir))
	return task.NewStore(filepath.Join(workspace.StateDir(), "tasks", hex.EncodeToString(sum[:16])), nil)
}

// environment is that of this process with what the settings add, and the names
// of it that shell commands inherit beside the usual ones.
func (p *Project) environment() (environ, pass []string) {
	environ, pass = os.Environ(), []string{"CLAUDE_CODE_ENTRYPOINT"}
	for _, v := range p.Counts.Env() {
		environ = append(environ, v.Name+"="+v.Text.Text)
		pass = append(pass, v.Name)
	}
	for _, name := range p.Counts.PassEnv() {
		pass = append(pass, name.Text)
	}
	return environ, pass
}

// readOnly reports whether a command was shown to change nothing.
func (p *Project) readOnly(command, dir string) bool {
	return shell.Analyze(command, p.shellOptions(dir)).ReadOnly
}

// hardening is the environment in which that holds.
func (p *Project) hardening(dir string) []string {
	env, _ := shell.Hardening(p.shellOptions(dir))
	return env
}

func (p *Project) shellOptions(dir string) *shell.Options {
	return &shell.Options{Cwd: dir, Home: p.Home, Roots: p.Guard.Roots(), Kept: p.kept.holds, FS: shell.OS{}}
}
