// Package style is the output styles there are: texts that say how a model answers, and
// take the place of some of the system prompt.
//
//	set := style.New(places, trusted)
//	s, err := set.Find("Explanatory")
//
// Files are Markdown of the public format, in folders named output-styles.
//
// Trust: it reads files through package knowledge, which asks before one of a project
// counts. A style changes what a model is told and grants nothing.
//
// Sets are safe for concurrent use; there is nothing to close.
package style

import (
	"embed"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/frontmatter"
)

// Default is the name of haft's own way to answer, which has no text.
const Default = "default"

// A Style is one way to answer.
type Style struct {
	Name, Description string
	// Text is added to the system prompt; "" adds nothing.
	Text string
	// Coding keeps what the system prompt says about work on code.
	Coding bool

	// Source is whose it is, Plugin what brings it, Path its file; Builtin are haft's own.
	Source       settings.Source
	Plugin, Path string
	Builtin      bool
}

// A Set is the styles in some places, and haft's own.
type Set struct{ files *knowledge.Library }

// New returns the styles in places, the first of one name before the others.
func New(places []knowledge.Place, trust knowledge.Trust) *Set {
	return &Set{knowledge.NewLibrary(knowledge.Style, places, trust)}
}

// Hold is as for a [knowledge.Library].
func (s *Set) Hold(until time.Time) { s.files.Hold(until) }

// A Listing is what there is at a moment.
type Listing struct {
	// Styles are by name, after the default one.
	Styles []Style
	// Held are files of the project that nobody has trusted.
	Held     []knowledge.Claim
	Problems []knowledge.Problem
}

// List returns the styles that count. Files go before haft's own, except before the
// default one.
func (s *Set) List() Listing {
	found := s.files.List()
	list := Listing{Held: found.Held, Problems: found.Problems}
	byName := map[string]Style{}
	for _, st := range builtins() {
		byName[st.Name] = st
	}
	for _, p := range found.Pieces {
		st := fromPiece(p)
		switch {
		case strings.EqualFold(st.Name, Default):
			list.Problems = append(list.Problems, knowledge.Problem{Path: p.Path, Text: "skipped: " + Default + " is one of haft's own styles: give the file another name"})
		case st.Text == "":
			list.Problems = append(list.Problems, knowledge.Problem{Path: p.Path, Text: "skipped: a style needs text below the front matter"})
		default:
			byName[st.Name] = st
		}
	}
	list.Styles = []Style{{Name: Default, Description: "Gives short answers and focuses on code", Coding: true, Builtin: true}}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list.Styles = append(list.Styles, byName[name])
	}
	return list
}

// Find returns a style as it is now, in whatever case its name is written. An error is a
// [*knowledge.Missing].
func (s *Set) Find(name string) (Style, error) {
	var names []string
	found := -1
	list := s.List()
	for i, st := range list.Styles {
		if st.Name == name {
			return st, nil
		}
		if strings.EqualFold(st.Name, name) {
			found = i
		}
		names = append(names, st.Name)
	}
	if found >= 0 {
		return list.Styles[found], nil
	}
	_, err := s.files.Read(name)
	if missing := (*knowledge.Missing)(nil); errors.As(err, &missing) && missing.Held {
		return Style{}, missing // which says how to trust it
	}
	return Style{}, &knowledge.Missing{Kind: knowledge.Style, Name: name, Hint: knowledge.Hint(name, names)}
}

func fromPiece(p knowledge.Piece) Style {
	st := Style{
		Name: p.Name, Description: p.Fields.Text("description"), Text: strings.TrimSpace(p.Body), Coding: p.Fields.Flag("keep-coding-instructions", false),
		Source: p.Source, Plugin: p.Plugin, Path: p.Path,
	}
	if st.Description == "" {
		st.Description = knowledge.FirstParagraph(p.Body)
	}
	return st
}

//go:embed builtin/*.md
var builtinFiles embed.FS

// builtins are haft's own styles, read once.
var builtins = sync.OnceValue(readBuiltins)

// readBuiltins reads them from files of the same format as people's.
func readBuiltins() []Style {
	var list []Style
	for _, name := range []string{"Explanatory", "Learning"} {
		text, err := builtinFiles.ReadFile(path.Join("builtin", strings.ToLower(name)+".md"))
		if err != nil {
			panic("style: " + err.Error()) // it was built without them
		}
		doc, err := frontmatter.Parse(string(text))
		if err != nil {
			panic("style: " + name + ": " + err.Error())
		}
		st := fromPiece(knowledge.Piece{Kind: knowledge.Style, Name: name, Fields: doc.Fields, Body: doc.Body})
		st.Builtin = true
		list = append(list, st)
	}
	return list
}
