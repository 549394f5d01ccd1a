package trust

import (
	"maps"
	"slices"

	"github.com/haftdev/haft/knowledge"
	"github.com/haftdev/haft/settings"
)

// Claim returns the item that a skill, a command or an agent of the project is. It
// is bound to all that the file says and to the files that belong to it, wherever
// in the project they lie.
func (f *Folder) Claim(c knowledge.Claim) Item {
	kind := Kind(c.Kind)
	return Item{
		Kind: kind, Name: c.Name, Text: c.Text,
		Origin: settings.Origin{Source: settings.Project, File: c.Path, Line: 1},
		Files:  slices.Sorted(maps.Keys(c.Files)),
		Hash:   form{kind, c.Name, f.in, c.Text, c.Files}.hash(),
	}
}

// Agreed reports whether a person has agreed to a claim as it is. Where that
// cannot be known, nobody has.
func (f *Folder) Agreed(c knowledge.Claim) bool {
	ok, err := f.Trusted(f.Claim(c))
	return err == nil && ok
}

// Outside returns the item that stands for a file of the project including one
// from outside of it.
func (f *Folder) Outside(from, path string) Item {
	return f.Item(Include, path, from+" includes "+path)
}
