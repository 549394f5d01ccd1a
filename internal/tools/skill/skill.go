// Package skill provides the Skill tool, which loads the text of a skill into the
// conversation, or starts a separate agent to carry it out.
//
// Trust: it reads skills through package knowledge/skill, where those of a project are used
// only in the version that a user trusted. It runs nothing by itself: commands in a skill's
// text become Bash calls that go through the same pipeline as any other call, and so do the
// calls of the agent that runs a skill. If a skill grants tools or runs commands, the user is
// asked, sees what it grants and runs, and exactly that version is loaded.
package skill

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/knowledge/prompt"
	library "github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/tools/loading"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/tool"
)

//go:embed skill.md
var description string

// callInput is what the model sends.
type callInput struct {
	Skill string `json:"skill" jsonschema:"The name of the skill, as it is listed." haft:"min=1;max=300;alias=command;example=pdf"`
	Args  string `json:"args,omitempty" jsonschema:"Arguments for the skill." haft:"max=20000"`

	// Seen is the skill as it was when the user was asked.
	Seen string `json:"_seen,omitempty" haft:"hidden"`
}

// callOutput is what programs get.
type callOutput struct {
	Name  string   `json:"commandName"`
	Path  string   `json:"path"`
	Allow []string `json:"allowedTools,omitempty"`
	Model string   `json:"model,omitempty"`
	loading.Forked

	text string
}

// Options are what the tool works on.
type Options struct {
	// Skills are the available skills; nil means none.
	Skills *library.Library
	// Calls run what skills ask for; nil means that skills that run commands cannot be loaded.
	Calls prompt.Calls
	// Allowed says whether rules let a skill be called at all; nil means every one.
	// It shapes the listing: the verdict on a call is the pipeline's.
	Allowed func(name string) bool
	// Loaded, if not nil, is called with the text of each skill that is added to a
	// conversation, and the agent of that conversation.
	Loaded func(agent, name, text string)
	// Hooks enables the hooks of a skill that is being loaded in the version that digest
	// identifies; an error prevents loading it. Nil means that its hooks do not run.
	Hooks func(name, digest string) error
	// Crew runs the agents of skills that ask for one; nil means that they are loaded like
	// any other.
	Crew subagent.Crew
	// Budget is how many characters the listing may have; 0 means
	// [knowledge.DefaultBudget].
	Budget int
}

// New returns the tool.
func New(opts *Options) tool.Tool {
	s := new(skills)
	if opts != nil {
		s.Options = *opts
	}
	if s.Skills == nil {
		s.Skills = library.New(nil, nil)
	}
	// The listing stays as it was first shown: a description that changes would
	// make the model's cache of the conversation worthless.
	menu := sync.OnceValue(s.menu)
	return tool.New(tool.Def[callInput, callOutput]{
		Name:       "Skill",
		SearchHint: "load a skill instructions know-how workflow",
		Describe:   func(*tool.Session) string { return strings.TrimSpace(description) + "\n\n" + menu() },
		Marks:      s.marks,
		Validate:   s.validate,
		Permission: s.permission,
		Run:        s.run,
		Render: func(out callOutput) tool.Result {
			t := loading.Text{Kind: "skill", Name: out.Name, Allow: out.Allow, Model: out.Model}
			if r, forked := out.Forked.Result(t); forked {
				return r
			}
			return t.Result(out.text, out.Path)
		},
		Summarize: func(in callInput) string { return in.Skill + " " + in.Args },

		SummarizeResult: func(out callOutput) string {
			if out.Status != "" {
				return "done by the agent " + out.AgentID
			}
			if len(out.Allow) > 0 {
				return "loaded, with " + strings.Join(out.Allow, ", ")
			}
			return "loaded"
		},
	})
}

type skills struct{ Options }

func (s *skills) menu() string {
	var listed []library.Skill
	for _, sk := range s.Skills.List().Skills {
		if s.Allowed == nil || s.Allowed(sk.Name) {
			listed = append(listed, sk)
		}
	}
	menu := library.Menu(listed, s.Budget)
	if menu == "" {
		return "There are no skills in this session."
	}
	return "Skills:\n" + menu
}

// Codes of problems, for programs.
const (
	missing = 1 + iota
	forPeople
)

func (s *skills) validate(_ context.Context, call *tool.Call, in callInput) *tool.Problem {
	sk, err := s.Skills.Read(in.Skill)
	if err != nil {
		return &tool.Problem{Message: err.Error(), Code: missing}
	}
	if sk.Name != in.Skill { // rules are about the name
		return &tool.Problem{Message: "The skill in the folder " + in.Skill + " is called " + sk.Name + ": call it by that name.", Code: missing}
	}
	if !sk.ForModel {
		return &tool.Problem{Message: "Only the user can call the skill " + sk.Name + ", by typing /" + sk.Name + ". Tell the user if it is needed.", Code: forPeople}
	}
	return loading.CheckFork(s.Crew, call, fork(sk, ""))
}

// fork is the agent that a skill asks for, with what it is to do; nil if it asks for none.
func fork(sk library.Skill, text string) *subagent.Fork {
	if !sk.Fork {
		return nil
	}
	return &subagent.Fork{Text: subagent.Text{Kind: "skill", Name: sk.Name, Digest: sk.Digest}, Agent: sk.Agent, Model: sk.Model, Prompt: text}
}

func (s *skills) marks(in callInput) tool.Marks {
	sk, err := s.Skills.Read(in.Skill)
	if err != nil {
		return tool.Marks{ReadOnly: true}
	}
	return loading.Marks(s.Crew, fork(sk, ""))
}

func (s *skills) permission(_ context.Context, call *tool.Call, in callInput) tool.Verdict {
	sk, err := s.Skills.Read(in.Skill)
	if err != nil {
		return tool.Verdict{} // validation says what is wrong
	}
	in.Seen = sk.Digest
	input, err := json.Marshal(in)
	if err != nil {
		return tool.Verdict{}
	}
	t := loading.Text{Kind: "skill", Name: sk.Name, Rule: "Skill(" + sk.Name + ")", Allow: sk.Allow, Commands: sk.Commands(), Hooks: sk.HookTexts()}
	return t.ForAgent(s.Crew, call, fork(sk, "")).Verdict(input)
}

func (s *skills) run(ctx context.Context, c *tool.Call, in callInput) (callOutput, error) {
	if err := ctx.Err(); err != nil {
		return callOutput{}, err
	}
	sk, err := s.Skills.Read(in.Skill)
	if err != nil {
		return callOutput{}, tool.Errorf("%w", err)
	}
	if in.Seen != "" && in.Seen != sk.Digest {
		return callOutput{}, tool.Errorf("The skill %s changed while permission was being decided. Call it again.", sk.Name)
	}
	text, err := sk.Prompt(ctx, prompt.Use{Arguments: in.Args, Parent: c}, s.Calls)
	if errors.Is(err, context.Canceled) {
		return callOutput{}, err
	}
	if err != nil {
		return callOutput{}, tool.Errorf("The skill %s was not loaded: %w. Do the work without it, or ask the user to allow what it needs.", sk.Name, err)
	}
	if f := fork(sk, text); loading.MayFork(s.Crew, c) && f != nil {
		return callOutput{Name: sk.Name, Path: sk.Path, Forked: loading.Fork(ctx, s.Crew, c, f)}, nil
	}
	if s.Hooks != nil {
		if err := s.Hooks(sk.Name, sk.Digest); err != nil {
			return callOutput{}, tool.Errorf("The skill %s was not loaded, because its hooks cannot run: %w. Tell the user.", sk.Name, err)
		}
	}
	if s.Loaded != nil {
		s.Loaded(c.Agent, sk.Name, text)
	}
	return callOutput{Name: sk.Name, Path: sk.Path, Allow: sk.Allow, Model: sk.Model, text: text}, nil
}
