package tui

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/harness/slash"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/checkpoint"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/trust"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/search"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// A Talk is a conversation that is shown; see [Of].
type Talk interface {
	Run(context.Context) iter.Seq2[agent.Event, error]
	Hold() (release func())
	Send(agent.Prompt)
	Queued() []agent.Prompt
	Withdraw(uuid string) bool
	Interrupt(why string) bool
	SetMode(string) error
	SetModel(string)
	Resolve(model string) string
	Clear()
	Compact(instructions string)
	ContextUsage() agent.ContextUsage
	Usage() map[string]agent.ModelUsage
	Session() string
	Dir() string
	StopTask(ctx context.Context, id string) error
	RunBuiltinText(name, args string) (text string, ok bool)
	Close(context.Context) error

	// Mode is the permission mode, Tools those of the next turn.
	Mode() string
	Tools() *tool.Set
	// Typed reads a command that a person typed, Commands are those there are.
	Typed(ctx context.Context, text string) (slash.Command, bool, error)
	Commands() []Command
	// Files are the project's, newest first, relative to Dir.
	Files(context.Context) ([]string, error)
	// Call makes a call that the person asks for, beside the conversation.
	Call(ctx context.Context, tool string, input any) (tool.Result, error)
	// Grant keeps a rule in a scope: session, local, project or user. Where says in
	// which file that is.
	Grant(ctx context.Context, rule, scope string) error
	Where(scope string) string
	// Resolved says where a path leads, if that is not what it says.
	Resolved(path string) string
	// Past is what was said before, oldest first: the end of it.
	Past(ctx context.Context) []session.Entry
	// Sessions are the earlier ones of this folder.
	Sessions() ([]session.Info, error)
	// PlanRewind says what brings files back to how they were before a message,
	// Rewind does it.
	PlanRewind(ctx context.Context, to string) (*checkpoint.Plan, error)
	Rewind(ctx context.Context, p *checkpoint.Plan, force bool) (undo string, err error)
	// Held is what the folder brings and nobody has agreed to; Trust agrees.
	Held() []trust.Item
	Trust(context.Context, []trust.Item) error
}

// A Person is the one in front of the terminal, for those who ask.
type Person interface {
	sched.Asker
	Elicit(context.Context, mcp.Elicitation) (mcp.Answer, error)
}

// A Command is something that can be typed after a slash.
type Command struct{ Name, Description, Hint string }

// Of returns a harness's conversation as one that can be shown.
func Of(c *harness.Conversation) Talk { return talk{c, time.Now()} }

type talk struct {
	*harness.Conversation
	opened time.Time
}

func (t talk) Mode() string { return string(t.World.Engine.Policy().Mode()) }

func (t talk) Typed(ctx context.Context, text string) (slash.Command, bool, error) {
	return t.Input().Read(ctx, text)
}

func (t talk) Commands() []Command {
	var list []Command
	for _, c := range t.Input().Commands.List().Commands {
		list = append(list, Command{c.Name, c.Description, c.Hint})
	}
	return list
}

func (t talk) Files(ctx context.Context) ([]string, error) {
	const most = 20000
	found, err := t.World.Search.Glob(ctx, search.GlobQuery{Pattern: "**/*", Dir: t.Dir(), Path: t.Dir(), Limit: most})
	if err != nil {
		return nil, err
	}
	var files []string
	for _, f := range found.Files {
		if rel, err := filepath.Rel(t.Dir(), f); err == nil {
			f = rel
		}
		files = append(files, f)
	}
	return files, nil
}

func (t talk) Call(ctx context.Context, name string, input any) (tool.Result, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return tool.Result{}, err
	}
	return t.Conversation.Call(ctx, prompt.Request{Tool: name, Input: raw, Allow: []string{name}})
}

func (t talk) Grant(ctx context.Context, text, scope string) error {
	r := permission.Rule{Text: text, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}}
	if err := r.Check(); err != nil {
		return err
	}
	if scope != "session" {
		source, err := settings.ParseSource(scope)
		if err != nil {
			return err
		}
		if err := t.World.Project.Keep(ctx, source, r); err != nil {
			return err
		}
	}
	t.World.Engine.Grant(r)
	return nil
}

func (t talk) Where(scope string) string {
	source, err := settings.ParseSource(scope)
	if err != nil {
		return scope
	}
	target, err := t.World.Project.Target(source)
	if err != nil {
		return err.Error()
	}
	if rest, ok := strings.CutPrefix(target.Path, t.World.Project.Home+"/"); ok && t.World.Project.Home != "" {
		return "~/" + rest
	}
	return target.Path
}

func (t talk) Resolved(path string) string {
	facts := t.World.Project.Guard.At(t.Dir()).Look(path)
	if facts.Real == path {
		return ""
	}
	return facts.Real
}

func (t talk) Past(ctx context.Context) []session.Entry {
	path, head := t.Journal().Path(), t.Journal().Restored().Last
	if path == "" {
		return nil
	}
	const most = 400
	var said []session.Entry
	passed := false
	for e, err := range session.Entries(ctx, path) {
		if err != nil {
			break // a conversation in which nothing was said yet has no file
		}
		if e.Agent != "" || e.Message == nil && e.Compaction == nil || passed && e.Time.Before(t.opened) {
			continue // what was said after head, before it was gone back to, is left behind
		}
		passed = passed || e.UUID == head && head != ""
		if said = append(said, e); len(said) >= 2*most {
			said = slices.Clone(said[most:])
		}
	}
	return branch(said)
}

// branch returns the messages that lead to the last of the entries, oldest first,
// without those that haft added. A conversation that went back has others beside
// them. What stands before a summary led to it.
func branch(entries []session.Entry) []session.Entry {
	var list []session.Entry
	next := ""
	for _, e := range slices.Backward(entries) {
		if next != "" && e.UUID != next {
			continue
		}
		next = e.Parent
		if e.Message != nil && !e.Message.Synthetic {
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list
}

func (t talk) Sessions() ([]session.Info, error) {
	return session.Open("").List(&session.ListOptions{Cwd: t.Dir(), Limit: 200})
}

func (t talk) Held() []trust.Item {
	var items []trust.Item
	for _, h := range slices.Concat(t.World.Project.Held, t.World.Project.HeldClaims()) {
		if h.Never == "" {
			items = append(items, h.Item)
		}
	}
	return items
}

func (t talk) Trust(ctx context.Context, items []trust.Item) error {
	if t.World.Project.Folder == nil {
		return errors.New("there is no config folder to keep it in")
	}
	return t.World.Project.Folder.Grant(ctx, items...)
}

// said returns a text as a prompt.
func said(text string) agent.Prompt {
	return agent.Prompt{Content: []model.Block{model.TextOf(text)}}
}
