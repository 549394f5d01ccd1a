// Package skill is the skills there are: folders with a SKILL.md, whose text a
// model loads when it needs it.
//
//	lib := skill.New(places, trusted)
//	menu := skill.Menu(lib.List().Skills, 0)        // goes with every request
//	s, err := lib.Read("pdf")                       // as it is now
//	text, err := s.Prompt(ctx, prompt.Use{Arguments: "a.pdf"}, calls)
//
// The files are those of the public format, unchanged.
//
// Trust: it reads skills through package knowledge, which asks before one of a
// project counts. A skill's text can ask for anything, and gets what the pipeline
// allows; the tools that it allows itself are rules for the caller to apply.
//
// Libraries are safe for concurrent use; there is nothing to close.
package skill

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// A Skill is what a SKILL.md says.
type Skill struct {
	knowledge.Piece
	// Description says what it is for, and when to use it.
	Description string
	// Hint shows people what arguments it takes; Arguments are their names.
	Hint      string
	Arguments []string
	// Allow are rules, such as Bash(git diff:*), that hold while it is used.
	Allow []string
	// Model is what to continue with; "" means no other.
	Model string
	// Fork asks for a sub-agent of its own, of the type Agent; "" means the usual.
	Fork  bool
	Agent string
	// Paths are patterns of files: the model is offered the skill when it has come to one of
	// them. Nil means that it always is.
	Paths []string
	// ForModel and ForPeople say who may call it.
	ForModel, ForPeople bool
}

// A Library is the skills in some places.
type Library struct {
	files *knowledge.Library
}

// New returns the skills in places, the first of one name before the others.
func New(places []knowledge.Place, trust knowledge.Trust) *Library {
	return &Library{knowledge.NewLibrary(knowledge.Skill, places, trust)}
}

// Hold is as for a [knowledge.Library].
func (l *Library) Hold(until time.Time) { l.files.Hold(until) }

// A Listing is what there is at a moment.
type Listing struct {
	Skills []Skill
	// Held are skills of the project that nobody has trusted.
	Held     []knowledge.Claim
	Problems []knowledge.Problem
}

// List returns the skills that count, by name.
func (l *Library) List() Listing {
	found := l.files.List()
	list := Listing{Held: found.Held, Problems: found.Problems}
	for _, p := range found.Pieces {
		s := read(p)
		list.Skills = append(list.Skills, s)
		list.Problems = append(list.Problems, s.HookProblems()...)
		for _, pattern := range s.Paths {
			if !doublestar.ValidatePattern(pattern) {
				list.Problems = append(list.Problems, knowledge.Problem{Path: s.Path, Text: fmt.Sprintf("has an invalid pattern under paths: %q", pattern)})
			}
		}
	}
	return list
}

// Read returns a skill as it is now. An error is a [*knowledge.Missing].
func (l *Library) Read(name string) (Skill, error) {
	p, err := l.files.Read(name)
	if err != nil {
		return Skill{}, err
	}
	return read(p), nil
}

func read(p knowledge.Piece) Skill {
	f := p.Fields
	s := Skill{
		Piece:       p,
		Description: strings.TrimSpace(f.Text("description") + " " + f.Text("when_to_use")),
		Hint:        f.Hint(),
		Arguments:   f.List("arguments"),
		Allow:       f.List("allowed-tools"),
		Model:       f.Text("model"),
		Fork:        f.Text("context") == "fork",
		Agent:       f.Text("agent"),
		Paths:       f.List("paths"),
		ForModel:    !f.Flag("disable-model-invocation", false),
		ForPeople:   f.Flag("user-invocable", true),
	}
	if s.Description == "" {
		s.Description = knowledge.FirstParagraph(p.Body)
	}
	if s.Model == "inherit" {
		s.Model = ""
	}
	return s
}

// Dir is the skill's folder.
func (s Skill) Dir() string { return filepath.Dir(s.Path) }

// Commands returns the commands that loading it runs.
func (s Skill) Commands() []string { return prompt.Parse(s.Body).Commands() }

// Prompt returns the skill's text for one use. What the use leaves open of names,
// rules and variables is filled in from the skill.
func (s Skill) Prompt(ctx context.Context, u prompt.Use, calls prompt.Calls) (string, error) {
	u.Names, u.Allow = s.Arguments, s.Allow
	u.Vars = s.Vars(u.Vars)
	u.Dir = "" // what a skill mentions it tells the model to read
	text, err := prompt.Parse(s.Body).Expand(ctx, u, calls)
	if err != nil {
		return "", err
	}
	return "The skill's folder: " + s.Dir() + "\n\n" + text, nil
}

// IsFor reports whether the skill is for a file, by its patterns. They begin in the folder
// that a project keeps it in, and in root for all others.
func (s Skill) IsFor(root, file string) bool {
	if s.Source.InProject() && s.Plugin == "" {
		root = filepath.Dir(filepath.Dir(filepath.Dir(s.Dir()))) // which has .claude/skills/NAME
	}
	rel, ok := pathin.Below(root, file)
	return ok && slices.ContainsFunc(s.Paths, func(pattern string) bool {
		ok, err := doublestar.Match(strings.TrimPrefix(pattern, "./"), filepath.ToSlash(rel))
		return ok && err == nil
	})
}

// Menu lists the skills that a model may always call, within a budget of characters; see
// [knowledge.Menu].
func Menu(skills []Skill, budget int) string {
	var entries []knowledge.Entry
	for _, s := range skills {
		if s.ForModel && s.Paths == nil {
			entries = append(entries, knowledge.Entry{Name: s.Name, Text: s.Description})
		}
	}
	return knowledge.Menu(entries, budget)
}
