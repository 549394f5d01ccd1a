// Package skill is the Skill tool: it loads the text of a skill into the
// conversation.
//
// Trust: it reads skills through package knowledge/skill, where those of a project
// count only as a user trusted them. It runs nothing by itself: commands in a
// skill's text become calls of Bash that take the way of any other call. A skill
// that grants tools or runs commands is asked about, with what it grants and runs,
// and is loaded only as it was then.
package skill

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/knowledge/prompt"
	library "github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/internal/loading"
)

//go:embed skill.md
var description string

// Input is what the model sends.
type Input struct {
	Skill string `json:"skill" jsonschema:"The name of the skill, as it is listed." haft:"min=1;max=300;alias=command;example=pdf"`
	Args  string `json:"args,omitempty" jsonschema:"Arguments for the skill." haft:"max=20000"`

	// Seen is the skill that was decided about.
	Seen string `json:"_seen,omitempty" haft:"hidden"`
}

// Output is what programs get.
type Output struct {
	Name  string   `json:"commandName"`
	Path  string   `json:"path"`
	Allow []string `json:"allowedTools,omitempty"`
	Model string   `json:"model,omitempty"`
	// Agent is the type of sub-agent that the skill wants to be done by; "" means
	// that it is done here.
	Agent string `json:"agent,omitempty"`

	text string
}

// Options are what the tool works on.
type Options struct {
	// Skills are those there are; nil means none.
	Skills *library.Library
	// Calls run what skills ask for; nil means that those which run commands cannot
	// be loaded.
	Calls prompt.Calls
	// Allowed says whether rules let a skill be called at all; nil means every one.
	// It shapes the listing: the verdict on a call is the pipeline's.
	Allowed func(name string) bool
	// Loaded is told the text of each skill that joins a conversation, and the agent whose
	// that is; nil means that nobody is.
	Loaded func(agent, name, text string)
	// Hooks lets the hooks of a skill run that is being loaded, as digest says it is; an
	// error keeps it from being loaded. Nil means that they do not run.
	Hooks func(name, digest string) error
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
	return tool.New(tool.Def[Input, Output]{
		Name:       "Skill",
		SearchHint: "load a skill instructions know-how workflow",
		Describe:   func(*tool.Session) string { return strings.TrimSpace(description) + "\n\n" + menu() },
		Marks:      func(Input) tool.Marks { return tool.Marks{ReadOnly: true} },
		Validate:   s.validate,
		Permission: s.permission,
		Run:        s.run,
		Render: func(out Output) tool.Result {
			return loading.Text{Kind: "skill", Name: out.Name, Allow: out.Allow, Model: out.Model}.Result(out.text, out.Path)
		},
		Summarize: func(in Input) string { return in.Skill + " " + in.Args },

		SummarizeResult: func(out Output) string {
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
		return "There are no skills here."
	}
	return "Skills:\n" + menu
}

// Codes of problems, for programs.
const (
	missing = 1 + iota
	forPeople
)

func (s *skills) validate(_ context.Context, _ *tool.Call, in Input) *tool.Problem {
	sk, err := s.Skills.Read(in.Skill)
	if err != nil {
		return &tool.Problem{Message: err.Error(), Code: missing}
	}
	if !sk.ForModel {
		return &tool.Problem{Message: "Only the user can call the skill " + sk.Name + ", by typing /" + sk.Name + ". Say so if it is needed.", Code: forPeople}
	}
	return nil
}

func (s *skills) permission(_ context.Context, _ *tool.Call, in Input) tool.Verdict {
	sk, err := s.Skills.Read(in.Skill)
	if err != nil {
		return tool.Verdict{} // validation says what is wrong
	}
	in.Seen = sk.Digest
	input, err := json.Marshal(in)
	if err != nil {
		return tool.Verdict{}
	}
	return loading.Text{Kind: "skill", Name: sk.Name, Rule: "Skill(" + sk.Name + ")", Allow: sk.Allow, Commands: sk.Commands(), Hooks: sk.HookTexts()}.Verdict(input)
}

func (s *skills) run(ctx context.Context, c *tool.Call, in Input) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	sk, err := s.Skills.Read(in.Skill)
	if err != nil {
		return Output{}, tool.Errorf("%w", err)
	}
	if in.Seen != "" && in.Seen != sk.Digest {
		return Output{}, tool.Errorf("The skill %s changed while permission was being decided. Call it again.", sk.Name)
	}
	text, err := sk.Prompt(ctx, prompt.Use{Arguments: in.Args, Parent: c}, s.Calls)
	if errors.Is(err, context.Canceled) {
		return Output{}, err
	}
	if err != nil {
		return Output{}, tool.Errorf("The skill %s was not loaded: %w. Do the work without it, or ask the user to allow what it needs.", sk.Name, err)
	}
	if s.Hooks != nil {
		if err := s.Hooks(sk.Name, sk.Digest); err != nil {
			return Output{}, tool.Errorf("The skill %s was not loaded, because its hooks cannot run: %w. Tell the user.", sk.Name, err)
		}
	}
	out := Output{Name: sk.Name, Path: sk.Path, Allow: sk.Allow, Model: sk.Model, text: text}
	if sk.Fork && c.Tools != nil && c.Tools.Lookup("Agent") != nil {
		out.Agent = cmp.Or(sk.Agent, "general-purpose")
		out.text = fmt.Sprintf(handOver, out.Agent) + text
	} else if s.Loaded != nil {
		s.Loaded(c.Agent, sk.Name, text)
	}
	return out, nil
}

// handOver goes before the text of a skill that wants a conversation of its own.
const handOver = "Do not do this yourself: give it to a sub-agent of the type %s by the Agent tool, with all of the text below as its prompt, and report what comes back.\n\n"
