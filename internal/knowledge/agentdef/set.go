package agentdef

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/knowledge"
)

// Options are where definitions come from. The zero value has haft's own only.
type Options struct {
	// Given are those of an SDK or a command line. They go before all others.
	Given []Definition
	// Places are where files are, the first of one name before the others.
	Places []knowledge.Place
	// Trust agrees to what a project brings; nil agrees to nothing.
	Trust knowledge.Trust
}

// A Set is the definitions there are.
type Set struct {
	given []Definition
	files *knowledge.Library
}

// New returns the definitions of opts.
func New(opts Options) *Set {
	return &Set{slices.Clone(opts.Given), knowledge.NewLibrary(knowledge.Agent, opts.Places, opts.Trust)}
}

// Hold is as for a [knowledge.Library].
func (s *Set) Hold(until time.Time) { s.files.Hold(until) }

// A Listing is what there is at a moment.
type Listing struct {
	// Definitions are by name.
	Definitions []Definition
	// Held are files of the project that nobody has trusted.
	Held     []knowledge.Claim
	Problems []knowledge.Problem
}

// List returns the definitions that count. Files go before haft's own, so that
// people can have their own Explore.
func (s *Set) List() Listing {
	found := s.files.List()
	list := Listing{Held: found.Held, Problems: found.Problems}
	byName := map[string]Definition{}
	for _, d := range builtins {
		byName[d.Name] = d
	}
	for _, p := range found.Pieces {
		d := fromPiece(p)
		if problem := d.check(); problem != "" {
			list.Problems = append(list.Problems, knowledge.Problem{Path: p.Path, Text: "skipped: " + problem})
			continue
		}
		if p.Source.InProject() && slices.Contains(asksNobody, d.Mode) {
			list.Problems = append(list.Problems, knowledge.Problem{Path: p.Path, Text: fmt.Sprintf("a project cannot choose the mode %q: the session's mode is used", d.Mode)})
			d.Mode = ""
		}
		list.Problems = append(list.Problems, p.HookProblems()...)
		if p.Plugin != "" && d.Hooks != nil { // nobody is asked about them, as about those of its settings
			list.Problems = append(list.Problems, knowledge.Problem{Path: p.Path, Text: "hooks of a plugin's agent do not run: put them into the plugin's hooks/hooks.json"})
			d.Hooks = nil
		}
		byName[d.Name] = d
	}
	for _, d := range s.given {
		byName[d.Name] = d
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list.Definitions = append(list.Definitions, byName[name])
	}
	return list
}

// asksNobody are the modes in which nobody is asked.
var asksNobody = []string{"bypassPermissions", "auto"}

// Find returns a definition as it is now. An error is a [*knowledge.Missing].
func (s *Set) Find(name string) (Definition, error) {
	list := s.List()
	var names []string
	for _, d := range list.Definitions {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	_, err := s.files.Read(name)
	if missing := (*knowledge.Missing)(nil); errors.As(err, &missing) && missing.Held {
		return Definition{}, missing // which says how to trust it
	}
	return Definition{}, &knowledge.Missing{Kind: knowledge.Agent, Name: name, Hint: knowledge.Hint(name, names)}
}
