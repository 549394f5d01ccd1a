package command

import (
	"context"
	"embed"

	"github.com/haftdev/haft/internal/knowledge/prompt"
)

// builtins are haft's own commands. What they do belongs to who shows them.
var builtins = []Command{
	{Name: "help", Description: "Show what can be typed"},
	{Name: "add-dir", Description: "Let tools work in another folder, for this session", Hint: "[FOLDER]"},
	{Name: "agents", Description: "Show the agents that work can be given to"},
	{Name: "clear", Description: "Begin a new conversation"},
	{Name: "compact", Description: "Make a summary take the place of the conversation so far", Hint: "[what the summary must keep]"},
	{Name: "config", Description: "Show and change settings", Hint: "[KEY [VALUE] [local|project|user]]"},
	{Name: "context", Description: "Show what fills the context"},
	{Name: "cost", Description: "Show tokens, time and cost of the session, turn by turn"},
	{Name: "doctor", Description: "Check settings, tools and servers"},
	{Name: "export", Description: "Write the conversation to a file, as Markdown or HTML", Hint: "[FILE.md|FILE.html|clipboard]"},
	{Name: "hooks", Description: "Show the hooks that run here"},
	{Name: "mcp", Description: "Show MCP servers; connect, enable and disable them", Hint: "[reconnect|enable|disable SERVER]"},
	{Name: "memory", Description: "Show the instructions for the model, edit them, add a note", Hint: "[add project|local|user NOTE]"},
	{Name: "model", Description: "Show or change the model", Hint: "[MODEL]"},
	{Name: "output-style", Description: "Show the output styles, or choose one for the next session", Hint: "[STYLE [local|project|user]]"},
	{Name: "permissions", Description: "Show the permission mode and rules, or change them", Hint: "[MODE | add allow|ask|deny RULE | remove RULE]"},
	{Name: "resume", Description: "Continue an earlier session", Hint: "[SESSION]"},
	{Name: "rewind", Description: "Take files and conversation back to an earlier message", Hint: "[apply] [MESSAGE]"},
	{Name: "skills", Description: "Show the skills there are"},
	{Name: "status", Description: "Show what this session is made of: model, key, sandbox, settings, servers"},
	{Name: "tools", Description: "Show the tools that the model has"},
}

// written are haft's own commands that have a text for the model. A file, a skill or a
// prompt of the same name takes their place.
var written = []Command{
	{Name: "init", Description: "Write AGENTS.md, or improve the instructions there are", Hint: "[what it should say]"},
	{Name: "review", Description: "Review the changes here, a branch or a pull request", Hint: "[what to review]"},
	{Name: "security-review", Description: "Review the changes here for security problems", Hint: "[what to review]"},
}

//go:embed prompts/*.md
var prompts embed.FS

// Builtins returns haft's own commands.
func Builtins() []Command {
	list := make([]Command, 0, len(builtins)+len(written))
	for _, b := range builtins {
		b.Origin = Builtin
		list = append(list, b)
	}
	for _, w := range written {
		list = append(list, fromText(w))
	}
	return list
}

// fromText adds the text of a command.
func fromText(c Command) Command {
	c.Origin = Builtin
	c.expand = func(ctx context.Context, u prompt.Use, calls prompt.Calls) (string, error) {
		text, err := prompts.ReadFile("prompts/" + c.Name + ".md")
		if err != nil {
			return "", err
		}
		return prompt.Parse(string(text)).Expand(ctx, u, calls)
	}
	return c
}
