package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/text/near"
)

// A Prompt is one that an MCP server offers.
type Prompt struct {
	// Name is what is typed, such as mcp__github__review.
	Name              string
	Description, Hint string
	// Get asks the server for the text.
	Get func(ctx context.Context, args []string) (string, error)
}

// Options are where commands come from. The zero value has haft's own only.
type Options struct {
	// Places are where files are, the first of one name before the others.
	Places []knowledge.Place
	// Trust agrees to what a project brings; nil agrees to nothing.
	Trust knowledge.Trust
	// Skills may be typed too; nil means none.
	Skills *skill.Library
	// Prompts returns those of the MCP servers that are connected; nil means none.
	Prompts func() []Prompt
}

// A Set is the commands there are.
type Set struct {
	opts  Options
	files *knowledge.Library
}

// New returns the commands of opts.
func New(opts Options) *Set {
	return &Set{opts, knowledge.NewLibrary(knowledge.Command, opts.Places, opts.Trust)}
}

// With returns the commands with those of a server besides.
func (s *Set) With(prompts func() []Prompt) *Set {
	with := *s
	with.opts.Prompts = prompts
	return &with
}

// Hold is as for a [knowledge.Library].
func (s *Set) Hold(until time.Time) { s.files.Hold(until) }

// A Listing is what there is at a moment.
type Listing struct {
	// Commands are by name, haft's own first.
	Commands []Command
	// Held are files of the project that nobody has trusted.
	Held     []knowledge.Claim
	Problems []knowledge.Problem
}

// List returns the commands that count. Of one name haft's own goes before a
// skill, a skill before a file, a file before a prompt, and a prompt before a text of
// haft's own.
func (s *Set) List() Listing {
	if s.opts.Skills == nil {
		return s.Beside(nil)
	}
	return s.Beside(s.opts.Skills.List().Skills)
}

// Beside is List for skills that were listed already.
func (s *Set) Beside(skills []skill.Skill) Listing {
	found := s.files.List()
	list := Listing{Held: found.Held, Problems: found.Problems, Commands: Builtins()}
	byName := map[string]Command{}
	for _, p := range s.prompts() {
		byName[p.Name] = fromPrompt(p)
	}
	for _, p := range found.Pieces {
		byName[p.Name] = fromPiece(p)
		list.Problems = append(list.Problems, p.HookProblems()...)
	}
	for _, sk := range skills {
		if sk.ForPeople {
			byName[sk.Name] = fromSkill(sk)
		}
	}
	list.Commands = slices.DeleteFunc(list.Commands, func(b Command) bool {
		_, replaced := byName[b.Name]
		return b.expand != nil && replaced
	})
	for _, b := range list.Commands {
		if c, ok := byName[b.Name]; ok && c.Path != "" {
			c.Name = whose(c) + ":" + c.Name
			byName[c.Name] = c
			list.Problems = append(list.Problems, knowledge.Problem{Path: c.Path, Text: fmt.Sprintf("/%s is one of haft's own commands: type /%s for the one in this file", b.Name, c.Name)})
		}
		delete(byName, b.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list.Commands = append(list.Commands, byName[name])
	}
	return list
}

// Find returns a command as it is now.
func (s *Set) Find(name string) (Command, error) {
	own := slices.IndexFunc(Builtins(), func(b Command) bool { return b.Name == name })
	if own >= 0 && Builtins()[own].expand == nil {
		return Builtins()[own], nil
	}
	var held *knowledge.Missing
	if s.opts.Skills != nil {
		sk, err := s.opts.Skills.Read(name)
		if err == nil && sk.ForPeople {
			return fromSkill(sk), nil
		}
		errors.As(err, &held)
	}
	c, err := s.ForModel(name)
	if err != nil && unqualified(name) != "" {
		if c, ok := s.qualified(name); ok {
			return c, nil
		}
	}
	if err != nil && held != nil && held.Held {
		return c, held
	}
	var none *NoPrompt
	if own >= 0 && errors.As(err, &none) {
		return Builtins()[own], nil
	}
	return c, err
}

// whose is what goes before the name of a file or skill that has the name of a command of haft
// itself.
func whose(c Command) string {
	if c.Source.InProject() {
		return "project"
	}
	return "user"
}

// qualified finds user:NAME and project:NAME where haft has a command NAME.
func (s *Set) qualified(name string) (Command, bool) {
	for _, c := range s.List().Commands {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// unqualified is the name of a file or skill that has the name of a command of haft itself; ""
// if name does not lead to one.
func unqualified(name string) string {
	whose, rest, ok := strings.Cut(name, ":")
	if ok && (whose == "user" || whose == "project") && slices.ContainsFunc(Builtins(), func(b Command) bool { return b.Name == rest }) {
		return rest
	}
	return ""
}

// File returns the file of a command as it is now. An error is a [*knowledge.Missing].
func (s *Set) File(name string) (knowledge.Piece, error) {
	return s.files.Read(cmp.Or(unqualified(name), name))
}

// Skill returns a skill that may be typed, as it is now. An error is a [*knowledge.Missing].
func (s *Set) Skill(name string) (skill.Skill, error) {
	return s.opts.Skills.Read(cmp.Or(unqualified(name), name))
}

// ForModel returns a command that has a text and is not a skill: what a model may
// call by this name, if the command lets it.
func (s *Set) ForModel(name string) (Command, error) {
	p, err := s.files.Read(name)
	if err == nil {
		return fromPiece(p), nil
	}
	for _, p := range s.prompts() {
		if p.Name == name {
			return fromPrompt(p), nil
		}
	}
	var untrusted *knowledge.Missing
	for _, b := range Builtins() {
		if b.Name == name && !(errors.As(err, &untrusted) && untrusted.Held) {
			return Command{}, &NoPrompt{name}
		}
	}
	return Command{}, s.missing(name, err)
}

// missing adds which skill, prompt or command of haft itself may have been meant.
func (s *Set) missing(name string, err error) error {
	var m *knowledge.Missing
	if !errors.As(err, &m) || m.Held {
		return err
	}
	var names, written []string
	for _, c := range s.List().Commands {
		names = append(names, c.Name)
		if c.Path != "" || c.Text != "" {
			written = append(written, c.Name)
		}
	}
	hint := near.Hint(name, names)
	if hint == "" { // what haft itself has is in its help
		hint = knowledge.Hint(name, written)
	}
	return &knowledge.Missing{Kind: m.Kind, Name: m.Name, Hint: hint}
}

func (s *Set) prompts() []Prompt {
	if s.opts.Prompts == nil {
		return nil
	}
	return s.opts.Prompts()
}

// fromPrompt makes a server's prompt a command. Its text is the server's: nothing
// in it is a place for anything.
func fromPrompt(p Prompt) Command {
	return Command{
		Name: p.Name, Description: p.Description, Hint: p.Hint, Origin: MCP, ForModel: true,
		expand: func(ctx context.Context, u prompt.Use, _ prompt.Calls) (string, error) {
			return p.Get(ctx, prompt.Words(u.Arguments))
		},
	}
}

// Menu lists the commands that a model may call, within a budget of characters;
// see [knowledge.Menu].
func Menu(commands []Command, budget int) string {
	var entries []knowledge.Entry
	for _, c := range commands {
		if c.ForModel && c.Description != "" {
			entries = append(entries, knowledge.Entry{Name: "/" + c.Name, Text: c.Description})
		}
	}
	return knowledge.Menu(entries, budget)
}
