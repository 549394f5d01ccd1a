package command

import (
	"context"
	"embed"

	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/text/lang"
)

// A builtin is a command of haft's own. What it does is a message that screens translate.
type builtin struct {
	name string
	does lang.Text
	hint string
}

func (b builtin) command() Command {
	return Command{Name: b.name, Description: string(b.does), Hint: b.hint, Origin: Builtin}
}

// builtins are haft's own commands. What they do belongs to who shows them.
var builtins = []builtin{
	{"help", "Show the available commands", ""},
	{"add-dir", "Let tools work in another folder, for this session", "[FOLDER]"},
	{"agents", "Show the agents that work can be delegated to", ""},
	{"clear", "Start a new conversation", ""},
	{"compact", "Replace the conversation so far with a summary", "[what the summary must keep]"},
	{"config", "Show and change settings", "[KEY [VALUE] [local|project|user]]"},
	{"context", "Show what fills the context", ""},
	{"cost", "Show the session's tokens, time and cost, turn by turn", ""},
	{"doctor", "Check settings, tools and servers", ""},
	{"export", "Write the conversation to a file, as Markdown or HTML", "[FILE.md|FILE.html|clipboard]"},
	{"hooks", "Show the hooks that run here", ""},
	{"mcp", "Show MCP servers; connect, enable and disable them", "[reconnect|enable|disable SERVER]"},
	{"memory", "Show or edit the instructions for the model, or add a note", "[add project|local|user NOTE]"},
	{"model", "Show or change the model", "[MODEL]"},
	{"output-style", "Show the output styles, or choose one for the next session", "[STYLE [local|project|user]]"},
	{"permissions", "Show the permission mode and rules, or change them", "[MODE | add allow|ask|deny RULE | remove RULE]"},
	{"resume", "Continue an earlier session", "[SESSION]"},
	{"rewind", "Rewind files and the conversation to an earlier message", "[apply] [MESSAGE]"},
	{"skills", "Show the available skills", ""},
	{"status", "Show this session's model, key, sandbox, settings and servers", ""},
	{"tools", "Show the tools that the model has", ""},
}

// written are haft's own commands that have a text for the model. A file, a skill or a
// prompt of the same name takes their place.
var written = []builtin{
	{"init", "Write AGENTS.md, or improve existing instructions", "[what it should say]"},
	{"review", "Review the changes here, a branch or a pull request", "[what to review]"},
	{"security-review", "Review the changes here for security problems", "[what to review]"},
}

//go:embed prompts/*.md
var prompts embed.FS

// Builtins returns haft's own commands.
func Builtins() []Command {
	list := make([]Command, 0, len(builtins)+len(written))
	for _, b := range builtins {
		list = append(list, b.command())
	}
	for _, w := range written {
		list = append(list, fromText(w.command()))
	}
	return list
}

// fromText adds the text of a command.
func fromText(c Command) Command {
	c.expand = func(ctx context.Context, u prompt.Use, calls prompt.Calls) (string, error) {
		text, err := prompts.ReadFile("prompts/" + c.Name + ".md")
		if err != nil {
			return "", err
		}
		return prompt.Parse(string(text)).Expand(ctx, u, calls)
	}
	return c
}
