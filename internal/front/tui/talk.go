package tui

import (
	"context"
	"iter"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A Talk is a conversation that is shown, by what the screen does with it; see [Of].
type Talk struct {
	Driver Driver
	Turns  Turns
	State  State
	Input  Input
	Rules  Rules
	Past   Past
}

// A Driver takes what the user says, and tells what happens; see [drive.Driver].
type Driver interface {
	Run(context.Context) iter.Seq2[agent.Event, error]
	Say(drive.Message)
	// Queued is what waits for a turn; TakeBack takes at most n of the user's prompts back.
	Queued() []agent.Prompt
	TakeBack(n int) []agent.Prompt
	Interrupt() bool
	// Busy reports whether anything runs or waits to.
	Busy() bool
	SetMode(string) error
	// Speak changes the language of answers.
	Speak(*lang.Catalogue)
	Close(context.Context) ([]agent.Notice, error)
}

// Turns are what is done in the conversation.
type Turns interface {
	StopTask(ctx context.Context, id string) error
	// Background moves what a call waits for to the background, "" all of it, and reports
	// whether there was any.
	Background(useID string) bool
	// Dir is where the conversation works.
	Dir() string
	// Resolve returns the full name of a model.
	Resolve(model string) string
	// Running names the background commands that end when it is closed; "" means none.
	Running() string
}

// State is what the next request is made with, and what the earlier ones have used.
type State interface {
	Session() string
	// Tools are those of the next turn.
	Tools() *tool.Set
	ContextUsage() agent.ContextUsage
	Usage() map[string]agent.ModelUsage
}

// Input is what the user can type besides prompts.
type Input interface {
	// Commands are those that can be typed after a slash.
	Commands() []Command
	// NoteFiles are those that notes are kept in, Instructions all that are told to the
	// model, by path.
	NoteFiles() []NoteFile
	Instructions() []string
	// Arguments are how the argument of a command may continue, after the words before it;
	// CompleteResource how the mention of a server's resource may.
	Arguments(ctx context.Context, command string, words []string, typed string) []string
	CompleteResource(ctx context.Context, typed string) []string
	// Servers are the MCP servers.
	Servers() []mcp.Status
	// Files are the project's, newest first, relative to the working directory.
	Files(context.Context) ([]string, error)
	// KeepImage keeps a picture with the session, where the model may read it.
	KeepImage(png []byte) (path string, err error)
	// Call makes a call that the user asks for, beside the conversation.
	Call(ctx context.Context, tool string, input any) (tool.Result, error)
}

// Rules are what may be done without asking.
type Rules interface {
	// Mode is the permission mode.
	Mode() string
	// Sandbox says what confines commands; "" before it is known.
	Sandbox() string
	// Where says in which file rules of a scope are kept: local, project or user.
	Where(scope string) string
	// CheckRule says what is wrong with a rule that would allow, ask or deny.
	CheckRule(behavior, rule string) error
	// Rules are those in force, Settings the single values that can be set.
	Rules() []RuleLine
	Settings() []SettingLine
	// Resolved says where a path leads, if that is not what it says.
	Resolved(path string) string
	// Held is what the folder brings and the user has not agreed to; Trust agrees.
	Held() []trust.Item
	Trust(context.Context, []trust.Item) error
	// StatusLine is the command of the settings that prints lines below the input box, "" for
	// none, and what it is told besides what the screen knows.
	StatusLine() (command string, told StatusFacts)
	// Keep is what the conversation passes on when it is opened again.
	Keep() *harness.Kept
}

// StatusFacts are what the command of the status line is told of the conversation.
type StatusFacts struct {
	Journal       string // the session's file
	Style, Effort string
	AddDirs       []string
}

// Past is what was said and changed before.
type Past interface {
	// Said is what was said before, oldest first: the end of it.
	Said(ctx context.Context) []session.Entry
	// Lost is the session's file if it is gone, "" if not.
	Lost() string
	// Markdown is all of the conversation.
	Markdown(context.Context) (string, error)
	// Restored says which files going back to before each message would restore.
	Restored(context.Context) (map[string][]string, error)
	// PlanRewind says what brings files back to how they were before a message,
	// Rewind does it.
	PlanRewind(ctx context.Context, to string) (*checkpoint.Plan, error)
	Rewind(ctx context.Context, p *checkpoint.Plan, force bool) (undo string, err error)
}

// A Person is the one in front of the terminal, for those who ask.
type Person interface {
	sched.Asker
	Elicit(context.Context, mcp.Elicitation) (mcp.Answer, error)
}

// A Command is something that can be typed after a slash.
type Command struct{ Name, Description, Hint string }

// Of returns a conversation as one that can be shown.
func Of(d *drive.Driver) *Talk {
	c := d.Conversation()
	return &Talk{Driver: d, Turns: c, State: c.Agent, Input: input{c}, Rules: rules{c}, Past: past{c}}
}
