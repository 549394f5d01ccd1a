package command

// builtins are haft's own commands. What they do belongs to who shows them.
var builtins = []Command{
	{Name: "help", Description: "Show what can be typed"},
	{Name: "agents", Description: "Show the agents that work can be given to"},
	{Name: "clear", Description: "Begin a new conversation"},
	{Name: "compact", Description: "Make a summary take the place of the conversation so far", Hint: "[what the summary must keep]"},
	{Name: "context", Description: "Show what fills the context"},
	{Name: "cost", Description: "Show tokens, time and cost of the session"},
	{Name: "doctor", Description: "Check settings, tools and servers"},
	{Name: "mcp", Description: "Show MCP servers, and connect them again", Hint: "[reconnect SERVER]"},
	{Name: "model", Description: "Show or change the model", Hint: "[MODEL]"},
	{Name: "permissions", Description: "Show the permission mode and rules, or change the mode", Hint: "[MODE]"},
	{Name: "resume", Description: "Continue an earlier session", Hint: "[SESSION]"},
	{Name: "rewind", Description: "Take files and conversation back to an earlier message", Hint: "[apply] [MESSAGE]"},
	{Name: "skills", Description: "Show the skills there are"},
	{Name: "tools", Description: "Show the tools that the model has"},
}

// Builtins returns haft's own commands.
func Builtins() []Command {
	list := make([]Command, len(builtins))
	for i, b := range builtins {
		b.Origin = Builtin
		list[i] = b
	}
	return list
}
