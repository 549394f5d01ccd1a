// Package slash reads what a user types into a prompt beside plain text: slash commands
// and mentions of files.
//
//	in := &slash.Input{Commands: commands, Dir: dir, Calls: calls}
//	typed, ok, err := in.Read(ctx, "/review main.go")
//
// What a command's text runs or reads is a call, which Calls takes through the pipeline.
package slash

import (
	"context"
	"errors"
	"strings"

	"github.com/haftdev/haft/internal/knowledge"
	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/mention"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/tool"
)

// An Input reads prompts. Its fields are not to be modified.
type Input struct {
	Commands *commands.Set
	// Dir is where relative paths begin now.
	Dir func() string
	// Calls takes what a text runs through the pipeline.
	Calls prompt.Calls
	// Hooks lets the hooks of a skill or command run that a user typed, as digest says it is.
	Hooks func(kind knowledge.Kind, name, digest string) error
	// Fork returns what lets an agent of its own do a command, whose text it is given; nil
	// if the conversation is to do it.
	Fork func(c commands.Command, text string) func(context.Context) (string, error)
	// Elsewhere says that the files are on another machine: what a text mentions is left to
	// the model.
	Elsewhere bool
}

// A Command is a slash command that a user typed.
type Command struct {
	Command   commands.Command
	Arguments string
	// Text is what the model reads in its place; "" for haft's own commands, which
	// the front end carries out.
	Text string
	// Change is what the command changes for what follows; nil: nothing.
	Change *tool.Change
	// Answer does what the command says, in place of the model that reads Text; nil means
	// that the model does. See [agent.Prompt].
	Answer func(context.Context) (string, error)
}

// Read reads what a user typed. It reports false for text that is not a command that
// exists: it goes to the model as it is. An error means that the command needs
// something which was not allowed or did not work.
func (in *Input) Read(ctx context.Context, text string) (t Command, ok bool, err error) {
	name, args, ok := commands.Line(text)
	if !ok {
		return Command{}, false, nil
	}
	c, err := in.Commands.Find(name)
	if isHeld(err) {
		return Command{Command: commands.Command{Name: name}}, true, lang.Errorf("/%s comes from this project, which is not trusted: review it with 'haft trust'", name)
	}
	if err != nil {
		return Command{}, false, nil
	}
	t = Command{Command: c, Arguments: args}
	t.Text, err = c.Prompt(ctx, prompt.Use{Arguments: args, Dir: in.Dir()}, in.Calls)
	var none *commands.NoPrompt
	if errors.As(err, &none) {
		return t, true, nil
	}
	if err == nil && c.Fork && in.Fork != nil {
		if t.Answer = in.Fork(c, t.Text); t.Answer != nil {
			t.Text = strings.TrimSpace(text)
			return t, true, nil
		}
	}
	if kind, ok := kinds[c.Origin]; err == nil && ok && in.Hooks != nil {
		err = in.Hooks(kind, c.Name, c.Digest)
	}
	if err == nil && (len(c.Allow) > 0 || c.Model != "") {
		t.Change = &tool.Change{Allow: c.Allow, Model: c.Model}
	}
	return t, true, err
}

// kinds are those of commands that have a file.
var kinds = map[commands.Origin]knowledge.Kind{commands.Skill: knowledge.Skill, commands.File: knowledge.Command}

// IsCommand reports whether a text is a command that exists.
func (in *Input) IsCommand(text string) bool {
	name, _, ok := commands.Line(text)
	if !ok {
		return false
	}
	_, err := in.Commands.Find(name)
	return err == nil || isHeld(err)
}

// IsPrompt reports whether a text is a command that stands for a prompt, which can be
// one part of a longer one.
func (in *Input) IsPrompt(text string) bool {
	name, _, ok := commands.Line(text)
	if !ok {
		return false
	}
	c, err := in.Commands.Find(name)
	return err == nil && c.Origin != commands.Builtin || isHeld(err)
}

// isHeld reports whether a command is there and does not count, because its project is
// not trusted. It must not go to the model as text, which would do something else.
func isHeld(err error) bool {
	var missing *knowledge.Missing
	return errors.As(err, &missing) && missing.Held
}

// mentioned are the paths in a text that may be files of this machine.
func (in *Input) mentioned(text string) []string {
	if in.Elsewhere {
		return nil
	}
	return mention.Paths(text)
}

// Mentions reports whether a text mentions a file or a folder that is there.
func (in *Input) Mentions(text string) bool {
	for _, name := range in.mentioned(text) {
		file, _, _ := mention.Lines(name)
		if _, _, ok := prompt.Find(in.Dir(), file); ok {
			return true
		}
	}
	return false
}

// Missing are the mentions that look like files and are none: a name with an extension.
// A name without one may be a package, a user or a decorator.
func (in *Input) Missing(text string) []string {
	var missing []string
	for _, name := range in.mentioned(text) {
		file, _, _ := mention.Lines(name)
		if _, _, ok := prompt.Find(in.Dir(), file); !ok && extension.MatchString(file) && !strings.Contains(file, ":") {
			missing = append(missing, name)
		}
	}
	return missing
}

var extension = lazyregexp.New(`\.[A-Za-z]\w{0,9}$`)

// Mentioned returns the files that a text mentions, read as the model would be allowed to read
// them: their text, and images and documents as they are.
func (in *Input) Mentioned(ctx context.Context, text string) (string, []tool.Block, error) {
	if in.Elsewhere {
		return "", nil, nil
	}
	return prompt.Mentioned(ctx, in.Calls, prompt.Use{Dir: in.Dir()}, text)
}
