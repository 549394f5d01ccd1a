// Package builtin lists the built-in tools. The list is explicit: a tool that is not listed
// here does not exist, and each tool gets what it needs here and nowhere else.
package builtin

import (
	"context"
	"slices"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	library "github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/edit"
	"github.com/haftdev/haft/internal/tools/glob"
	"github.com/haftdev/haft/internal/tools/grep"
	"github.com/haftdev/haft/internal/tools/lsp"
	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/internal/tools/notebook"
	"github.com/haftdev/haft/internal/tools/notify"
	"github.com/haftdev/haft/internal/tools/plan"
	"github.com/haftdev/haft/internal/tools/question"
	"github.com/haftdev/haft/internal/tools/read"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/internal/tools/skill"
	"github.com/haftdev/haft/internal/tools/slashcommand"
	"github.com/haftdev/haft/internal/tools/sleep"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/tools/toolsearch"
	"github.com/haftdev/haft/internal/tools/webfetch"
	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/internal/tools/worktree"
	"github.com/haftdev/haft/internal/tools/write"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/webpage"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/tool"
)

// World is what tools act on. Tools that need a part that is nil are left out.
type World struct {
	// Files are those of the project.
	Files *workspace.Workspace
	// Shell runs commands, and Interpreters evaluate code.
	Shell        *bash.Tools
	Interpreters *repl.Tools
	// Languages ask language servers.
	Languages *lsp.Tools
	// Search finds files and what is in them, from Dir on and as far as Readable
	// allows; nil means everywhere.
	Search   *search.Searcher
	Dir      func() string
	Readable func(path string) bool
	// Searchable says which files a search may show lines of, unless a call names the file
	// itself: those that Read would ask about are left out. Nil means what Readable allows.
	Searchable func(path string) bool
	// Mode returns the current permission mode; nil means the mode of each call's session.
	Mode func() string
	// Agreed, if not nil, is called with each plan that a user has approved.
	Agreed func(plan string)
	// PlanFile returns the path of the file that a plan may be written in, or ""; nil means
	// that there is none.
	PlanFile func() string
	// Todos is what the agents have to do.
	Todos *todo.List
	// Tasks is the work that agents share.
	Tasks *task.Store
	// Web fetches pages, and Answer lets a small model answer prompts about them;
	// nil means that the pages themselves are returned.
	Web    *webpage.Fetcher
	Answer func(context.Context, webfetch.Question) (string, error)
	// Skills and Commands are texts that a model may load, as far as no rule denies
	// the name of a skill or a line such as /review; nil means none. Calls take what
	// a text runs or reads through the pipeline.
	Skills               *library.Library
	Commands             *command.Set
	MaySkill, MayCommand func(name string) bool
	// SkillLoaded, if not nil, is called with the text of each skill that an agent loads.
	SkillLoaded func(agent, name, text string)
	// TextHooks enables the hooks of a skill or command that is being loaded in the version
	// that digest identifies; nil means that they do not run.
	TextHooks func(kind knowledge.Kind, name, digest string) error
	Calls     prompt.Calls
	// Notify notifies the user and returns the channels that it used; nil means that there is
	// no channel.
	Notify func(ctx context.Context, text string) []string
	// Schedule holds prompts that the conversation gets later.
	Schedule *schedule.Schedule
	// Crew runs the agents that work is given to.
	Crew subagent.Crew
	// Servers are the MCP servers whose resources can be read.
	Servers mcpresource.Servers
	// SearchWeb finds pages; without it WebSearch says how to set it up.
	SearchWeb websearch.Backend
}

// Tools returns every built-in tool for which the world has what it needs, in no particular
// order; a [tool.Set] sorts and filters them.
func (w World) Tools() []tool.Tool {
	tools := []tool.Tool{
		question.New(),
		sleep.New(),
		toolsearch.New(),
		websearch.New(w.SearchWeb),
	}
	tools = append(tools, plan.New(&plan.Options{Mode: w.Mode, Agreed: w.Agreed, File: w.PlanFile})...)
	if w.Files != nil {
		tools = append(tools, edit.New(w.Files), edit.NewMulti(w.Files), notebook.New(w.Files), read.New(w.Files, nil), write.New(w.Files))
	}
	if w.Search != nil {
		tools = append(tools,
			glob.New(&glob.Options{Searcher: w.Search, Dir: w.Dir, Allow: w.Readable}),
			grep.New(&grep.Options{Searcher: w.Search, Dir: w.Dir, Allow: w.Readable, Show: w.Searchable}))
	}
	if w.Shell != nil {
		tools = append(tools, w.Shell.List()...)
	}
	if w.Interpreters != nil {
		tools = append(tools, w.Interpreters.REPL())
	}
	if w.Languages != nil {
		tools = append(tools, w.Languages.LSP())
	}
	if w.Shell != nil && w.Files != nil {
		tools = append(tools, worktree.New(worktree.Options{Root: w.Files.Root(), Dir: w.Shell.Dir, Move: w.Shell.Move})...)
	}
	if w.Todos != nil {
		tools = append(tools, todo.New(w.Todos))
	}
	if w.Tasks != nil {
		tools = append(tools, task.New(w.Tasks)...)
	}
	if w.Web != nil {
		tools = append(tools, webfetch.New(w.Web, &webfetch.Options{Answer: w.Answer}))
	}
	if w.Skills != nil {
		tools = append(tools, skill.New(&skill.Options{Skills: w.Skills, Calls: w.Calls, Allowed: w.MaySkill, Loaded: w.SkillLoaded, Hooks: w.hooksOf(knowledge.Skill), Crew: w.Crew}))
	}
	if w.Commands != nil {
		tools = append(tools, slashcommand.New(&slashcommand.Options{Commands: w.Commands, Calls: w.Calls, Dir: w.Dir, Allowed: w.MayCommand, Hooks: w.hooksOf(knowledge.Command), Crew: w.Crew}))
	}
	if w.Servers != nil {
		tools = append(tools, mcpresource.New(w.Servers)...)
	}
	if w.Notify != nil {
		tools = append(tools, notify.New(w.Notify))
	}
	if w.Schedule != nil {
		tools = append(tools, w.Schedule.Tools()...)
	}
	if w.Crew != nil {
		tools = append(tools, subagent.New(w.Crew)...)
	}
	for i := range tools {
		tools[i].Input = tools[i].Input.Prepare(prepared)
	}
	return tools
}

// hooksOf lets the hooks of a text of a kind run.
func (w World) hooksOf(kind knowledge.Kind) func(name, digest string) error {
	if w.TextHooks == nil {
		return nil
	}
	return func(name, digest string) error { return w.TextHooks(kind, name, digest) }
}

// Unattached returns the tools that act on files, commands and pages without a world to act
// on. They can say what a call would be about, but cannot run.
func Unattached() []tool.Tool {
	tools := []tool.Tool{
		edit.New(nil), edit.NewMulti(nil), notebook.New(nil), read.New(nil, nil), write.New(nil),
		glob.New(nil), grep.New(nil), webfetch.New(nil, nil), repl.New(nil, nil).REPL(), lsp.New(nil).LSP(),
	}
	return append(append(tools, World{}.Tools()...), bash.New(nil, nil).List()...)
}

// Names returns the names and aliases of every tool that haft can have, in any world.
func Names() (names []string) {
	tools := append(Unattached(), worktree.New(worktree.Options{})...)
	tools = slices.Concat(tools, task.New(nil), mcpresource.New(nil), schedule.New(nil).Tools(), []tool.Tool{notify.New(nil)})
	tools = append(append(tools, subagent.New(nil)...), todo.New(nil), skill.New(nil), slashcommand.New(nil))
	for _, t := range tools {
		names = append(append(names, t.Name), t.Aliases...)
	}
	return names
}

// Conversational returns the names of the tools that act on the conversation alone: on no file,
// process or network of the machine that haft runs on. A session whose tools run elsewhere keeps
// these. A tool that is missing here is off in such a session.
func Conversational() []string {
	return []string{
		"Agent", "AskUserQuestion", "CronCreate", "CronDelete", "CronList", "EnterPlanMode", "ExitPlanMode", "ListAgents", "RefreshMcpTools", "ScheduleWakeup", "SendMessage",
		"TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoWrite", tool.SearchName,
	}
}

// Bare returns the names that a bare session keeps.
func Bare() []string { return []string{"Bash", "Edit", "Read"} }
