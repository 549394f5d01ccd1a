// Package command is what a user types after a slash: haft's own commands,
// Markdown files whose text goes to the model, skills, and prompts of MCP
// servers.
//
//	set := command.New(command.Options{Places: places, Trust: trusted, Skills: skills})
//	name, args, ok := command.Line("/fix-issue 42 high")
//	c, err := set.Find(name)
//	text, err := c.Prompt(ctx, prompt.Use{Arguments: args, Dir: cwd}, calls)
//
// What haft's own commands do is not here: the table says what they are called,
// and the front ends and the agent loop do it.
//
// Trust: it reads files through package knowledge, which asks before one of a
// project counts. Commands and files in a text become calls for the pipeline; see
// package prompt.
//
// Sets are safe for concurrent use; there is nothing to close.
package command

import (
	"context"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/knowledge/skill"
)

// Origin is what kind of thing a command is.
type Origin string

const (
	Builtin Origin = "built-in"
	File    Origin = "file"
	Skill   Origin = "skill"
	MCP     Origin = "mcp"
)

// A Command is one name to type after a slash.
type Command struct {
	Name string
	// Description says what it does, Hint what arguments it takes.
	Description, Hint string
	Origin            Origin
	// Source, Plugin and Path are those of a file or a skill.
	Source settings.Source
	Plugin string
	Path   string
	// Allow are rules that hold while it is used, Model what to continue with ("" is
	// no other).
	Allow []string
	Model string
	// Fork asks for a sub-agent of its own, of the type Agent; "" means the usual.
	Fork  bool
	Agent string
	// Hooks say what its hooks run and when, for people.
	Hooks []string
	// ForModel says whether a model may call it too.
	ForModel bool
	// Commands are those of a shell that using it runs.
	Commands []string
	// Text is what its file says below the fields, Digest stands for all that it
	// says; "" if it is none.
	Text, Digest string

	expand func(context.Context, prompt.Use, prompt.Calls) (string, error)
}

// Prompt returns the text that goes to the model. Commands of haft itself have
// none.
func (c Command) Prompt(ctx context.Context, u prompt.Use, calls prompt.Calls) (string, error) {
	if c.expand == nil {
		return "", &NoPrompt{c.Name}
	}
	return c.expand(ctx, u, calls)
}

// NoPrompt is the error for a command that does something itself.
type NoPrompt struct{ Name string }

func (e *NoPrompt) Error() string {
	return "/" + e.Name + " is one of haft's own commands: only the user can type it"
}

// Line splits what a user typed into a command's name and its arguments. Text
// that begins with a path, as /etc/hosts does, is no command.
func Line(text string) (name, args string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexAny(text, " \t\n")
	if end < 0 {
		end = len(text)
	}
	name, args = text[:end], strings.TrimSpace(text[end:])
	return name, args, name != "" && !strings.ContainsAny(name, "/\\")
}

// fromPiece reads a command's file.
func fromPiece(p knowledge.Piece) Command {
	f := p.Fields
	template := prompt.Parse(p.Body)
	c := Command{
		Name: p.Name, Description: f.Text("description"), Hint: f.Hint(),
		Origin: File, Source: p.Source, Plugin: p.Plugin, Path: p.Path,
		Allow: f.List("allowed-tools"), Model: f.Text("model"), Fork: f.Text("context") == "fork", Agent: f.Text("agent"), Hooks: p.HookTexts(),
		ForModel: !f.Flag("disable-model-invocation", false),
		Commands: template.Commands(), Text: p.Body, Digest: p.Digest,
	}
	if c.Description == "" {
		c.Description = knowledge.FirstParagraph(p.Body)
	}
	if c.Model == "inherit" {
		c.Model = ""
	}
	names := f.List("arguments")
	c.expand = func(ctx context.Context, u prompt.Use, calls prompt.Calls) (string, error) {
		u.Names, u.Allow, u.Vars = names, c.Allow, p.Vars(u.Vars)
		return template.Expand(ctx, u, calls)
	}
	return c
}

// fromSkill makes a skill something to type. A model calls it by its own tool.
func fromSkill(s skill.Skill) Command {
	return Command{
		Name: s.Name, Description: s.Description, Hint: s.Hint,
		Origin: Skill, Source: s.Source, Plugin: s.Plugin, Path: s.Path,
		Allow: s.Allow, Model: s.Model, Fork: s.Fork, Agent: s.Agent, Hooks: s.HookTexts(), Commands: s.Commands(), Text: s.Body, Digest: s.Digest, expand: s.Prompt,
	}
}
