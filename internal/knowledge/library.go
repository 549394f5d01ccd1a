package knowledge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/knowledge/frontmatter"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/settings"
)

// A Piece is one skill, command or agent.
type Piece struct {
	Kind Kind
	// Name is what it is called by: that of its plugin and its folders go before
	// its own, as in acme:deploy.
	Name string
	// Source is whose it is. Plugin is what brings it, from PluginDir; "" if
	// nothing does.
	Source            settings.Source
	Plugin, PluginDir string
	// Path is its file.
	Path   string
	Fields frontmatter.Fields
	// Body is the text below the fields.
	Body string
	// Digest stands for all that the file says.
	Digest string
}

// A Library is the pieces of one kind in some places. It reads files when it is
// asked and not before, and each time again: what it says is what they say now.
type Library struct {
	kind   Kind
	places []Place
	trust  Trust

	mu   sync.Mutex
	docs map[string]parsed // by path
}

// parsed is a text that need not be parsed again while it stays the same.
type parsed struct {
	text, digest string
	doc          frontmatter.Document
	err          error
}

// NewLibrary returns the pieces of a kind. Of two with one name the one whose
// place comes first counts.
func NewLibrary(kind Kind, places []Place, trust Trust) *Library {
	return &Library{kind: kind, places: slices.Clone(places), trust: trust, docs: map[string]parsed{}}
}

// A Listing is the current content of a library.
type Listing struct {
	// Pieces are the ones in effect, sorted by name.
	Pieces []Piece
	// Held are not in effect, because the user has not trusted them.
	Held []Claim
	// Problems are faults in files.
	Problems []Problem
}

// List returns everything there is.
func (l *Library) List() Listing {
	s := l.scan("")
	list := Listing{Held: s.held, Problems: s.problems}
	for _, name := range slices.Sorted(maps.Keys(s.found)) {
		list.Pieces = append(list.Pieces, s.found[name].Piece)
	}
	return list
}

// Read returns one piece; an error is a [*Missing].
func (l *Library) Read(name string) (Piece, error) {
	s := l.scan(name)
	if f, ok := s.found[name]; ok {
		return f.Piece, nil
	}
	hint := Hint(name, slices.Sorted(maps.Keys(s.names)))
	held := len(s.held) > 0
	if held {
		hint = " A file in this project has that name but is not trusted in its current form; the user can review and trust it with: haft trust."
	}
	return Piece{}, &Missing{Kind: l.kind, Name: name, Hint: hint, Held: held}
}

// Hint is a sentence, with a space before it, that names what may have been meant in
// place of a name, or else what there is.
func Hint(name string, names []string) string {
	const most = 30
	switch hint := near.Hint(name, names); {
	case hint != "":
		return hint
	case len(names) == 0:
		return " There are none."
	case len(names) > most:
		return fmt.Sprintf(" Available: %s and %d more.", strings.Join(names[:most], ", "), len(names)-most)
	}
	return " Available: " + strings.Join(names, ", ") + "."
}

// Missing is the error for a name that nothing has. It is written for a model.
type Missing struct {
	Kind Kind
	Name string
	Hint string // a sentence with a space before it; "" if there is none
	Held bool   // there is one, and nobody has agreed to it
}

func (m *Missing) Error() string {
	return fmt.Sprintf("There is no %s named %q.%s", strings.ReplaceAll(string(m.Kind), "-", " "), m.Name, m.Hint)
}
