// Package slashcommand provides the SlashCommand tool, which loads the text of a slash
// command, or starts a separate agent to carry it out.
//
// Trust: it reads commands through package knowledge/command, where those of a project are
// used only in the version that a user trusted. It runs nothing by itself: commands and files
// in a text become Bash and Read calls that go through the same pipeline as any other call. If
// a command grants tools or runs something, the user is asked, sees what it grants and runs,
// and exactly that version is loaded. haft's built-in commands are for people; this tool
// cannot run them.
package slashcommand

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/tools/loading"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/tool"
)

//go:embed slashcommand.md
var description string

// callInput is what the model sends.
type callInput struct {
	Command string `json:"command" jsonschema:"The command with its arguments, such as /review-pr 123." haft:"min=2;max=20000;example=/review-pr 123"`

	// Seen is the command as it was when the user was asked.
	Seen string `json:"_seen,omitempty" haft:"hidden"`
}

// callOutput is what programs get.
type callOutput struct {
	Name  string   `json:"commandName"`
	Path  string   `json:"path,omitempty"`
	Allow []string `json:"allowedTools,omitempty"`
	Model string   `json:"model,omitempty"`
	loading.Forked

	text string
}

// Options are what the tool works on.
type Options struct {
	// Commands are the available commands; nil means none.
	Commands *command.Set
	// Calls run what commands ask for; nil means that commands that run or read something
	// cannot be loaded.
	Calls prompt.Calls
	// Dir is where files that a command mentions are looked for; nil means that none
	// are.
	Dir func() string
	// Allowed says whether rules let a command, such as /review, be called at all;
	// nil means every one. It shapes the listing: the verdict on a call is the
	// pipeline's.
	Allowed func(line string) bool
	// Hooks enables the hooks of a command that is being loaded in the version that digest
	// identifies; an error prevents loading it. Nil means that its hooks do not run.
	Hooks func(name, digest string) error
	// Crew runs the agents of commands that ask for one; nil means that they are loaded like
	// any other.
	Crew subagent.Crew
	// Budget is how many characters the listing may have; 0 means the usual.
	Budget int
}

// New returns the tool.
func New(opts *Options) tool.Tool {
	s := new(commands)
	if opts != nil {
		s.Options = *opts
	}
	if s.Commands == nil {
		s.Commands = command.New(command.Options{})
	}
	menu := sync.OnceValue(s.menu) // a description stays as it was first shown
	return tool.New(tool.Def[callInput, callOutput]{
		Name:       "SlashCommand",
		SearchHint: "run a custom slash command prompt",
		Describe:   func(*tool.Session) string { return strings.TrimSpace(description) + "\n\n" + menu() },
		Marks:      s.marks,
		Validate:   s.validate,
		Permission: s.permission,
		Run:        s.run,
		Render: func(out callOutput) tool.Result {
			t := loading.Text{Kind: "command", Name: "/" + out.Name, Allow: out.Allow, Model: out.Model}
			if r, forked := out.Forked.Result(t); forked {
				return r
			}
			return t.Result(out.text, out.Path)
		},
		Summarize: func(in callInput) string { return in.Command },

		SummarizeResult: func(out callOutput) string {
			if out.Status != "" {
				return "done by the agent " + out.AgentID
			}
			if len(out.Allow) > 0 {
				return "loaded, with " + strings.Join(out.Allow, ", ")
			}
			return "loaded"
		},
		Deferred: command.Menu(s.listed(), s.Budget) == "", // commands are in the first request, as skills are
	})
}

type commands struct{ Options }

// listed returns the commands that rules let the model call.
func (s *commands) listed() (listed []command.Command) {
	for _, c := range s.Commands.List().Commands {
		if s.Allowed == nil || s.Allowed("/"+c.Name) {
			listed = append(listed, c)
		}
	}
	return listed
}

func (s *commands) menu() string {
	menu := command.Menu(s.listed(), s.Budget)
	if menu == "" {
		return "There are no commands in this session."
	}
	return "Commands:\n" + menu
}

// Codes of problems, for programs.
const (
	malformed = 1 + iota
	missing
	forPeople
)

func (s *commands) validate(_ context.Context, call *tool.Call, in callInput) *tool.Problem {
	c, _, problem := s.find(in)
	switch {
	case problem != nil:
		return problem
	case !c.ForModel:
		return &tool.Problem{Message: "Only the user can call /" + c.Name + ". Tell the user if it is needed.", Code: forPeople}
	}
	return loading.CheckFork(s.Crew, call, fork(c, ""))
}

// fork is the agent that a command asks for, with what it is to do; nil if it asks for none.
func fork(c command.Command, text string) *subagent.Fork {
	if !c.Fork {
		return nil
	}
	return &subagent.Fork{Text: subagent.Text{Kind: "command", Name: c.Name, Digest: c.Digest}, Agent: c.Agent, Model: c.Model, Prompt: text}
}

func (s *commands) marks(in callInput) tool.Marks {
	c, _, problem := s.find(in)
	if problem != nil {
		return tool.Marks{ReadOnly: true}
	}
	return loading.Marks(s.Crew, fork(c, ""))
}

// find returns the command and its arguments.
func (s *commands) find(in callInput) (c command.Command, args string, problem *tool.Problem) {
	// A rule is about the line as it is written, so it must be written plainly.
	name, args, ok := command.Line(in.Command)
	if !ok || !strings.HasPrefix(in.Command, "/") {
		return c, "", &tool.Problem{Message: "A command starts with a slash and its name, as in /review-pr 123.", Code: malformed}
	}
	c, err := s.Commands.ForModel(name)
	if err != nil {
		return c, "", &tool.Problem{Message: err.Error(), Code: missing}
	}
	return c, args, nil
}

func (s *commands) permission(_ context.Context, call *tool.Call, in callInput) tool.Verdict {
	c, _, problem := s.find(in)
	if problem != nil {
		return tool.Verdict{} // validation says what is wrong
	}
	in.Seen = c.Digest
	input, err := json.Marshal(in)
	if err != nil {
		return tool.Verdict{}
	}
	t := loading.Text{Kind: "command", Name: "/" + c.Name, Rule: "SlashCommand(/" + c.Name + ":*)", Allow: c.Allow, Commands: c.Commands, Hooks: c.Hooks}
	return t.ForAgent(s.Crew, call, fork(c, "")).Verdict(input)
}

func (s *commands) run(ctx context.Context, call *tool.Call, in callInput) (callOutput, error) {
	if err := ctx.Err(); err != nil {
		return callOutput{}, err
	}
	c, args, problem := s.find(in)
	if problem != nil {
		return callOutput{}, tool.Errorf("%s", problem.Message)
	}
	if in.Seen != "" && in.Seen != c.Digest {
		return callOutput{}, tool.Errorf("The command /%s changed while permission was being decided. Call it again.", c.Name)
	}
	use := prompt.Use{Arguments: args, Parent: call}
	if use.Dir = call.Dir; use.Dir == "" && s.Dir != nil {
		use.Dir = s.Dir()
	}
	text, err := c.Prompt(ctx, use, s.Calls)
	if errors.Is(err, context.Canceled) {
		return callOutput{}, err
	}
	if err != nil {
		return callOutput{}, tool.Errorf("The command /%s was not loaded: %w. Do the work without it, or ask the user to allow what it needs.", c.Name, err)
	}
	if f := fork(c, text); loading.MayFork(s.Crew, call) && f != nil {
		return callOutput{Name: c.Name, Path: c.Path, Forked: loading.Fork(ctx, s.Crew, call, f)}, nil
	}
	if s.Hooks != nil {
		if err := s.Hooks(c.Name, c.Digest); err != nil {
			return callOutput{}, tool.Errorf("The command /%s was not loaded, because its hooks cannot run: %w. Tell the user.", c.Name, err)
		}
	}
	return callOutput{Name: c.Name, Path: c.Path, Allow: c.Allow, Model: c.Model, text: text}, nil
}
