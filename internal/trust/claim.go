package trust

import (
	"maps"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/settings"
)

// Claim returns the item that a skill, a command or an agent of the project is. It
// is bound to all that the file says, to the files that belong to it and to those
// that its commands and rules name, wherever in the project they lie.
func (f *Folder) Claim(c knowledge.Claim) Item {
	kind := Kind(c.Kind)
	files := maps.Clone(c.Files)
	for path, sum := range f.named(c.Runs) {
		if files == nil {
			files = map[string]string{}
		}
		files["/"+path] = sum // from the root, where others are from the file
	}
	return Item{
		Kind: kind, Name: c.Name, Text: c.Text,
		Origin: settings.Origin{Source: settings.Project, File: c.Path, Line: 1},
		Files:  slices.Sorted(maps.Keys(files)),
		Grants: c.Grants,
		Hash:   form{kind, c.Name, f.in, claimed(c), files}.hash(),
	}
}

// claimed is what a claim says. Hooks of agents and commands did not always run: who agreed
// to one of the same text then is asked again.
func claimed(c knowledge.Claim) any {
	if !c.Hooks || c.Kind == knowledge.Skill {
		return c.Text
	}
	return struct {
		Text  string `json:"text"`
		Hooks bool   `json:"hooks"`
	}{c.Text, true}
}

// named returns the hashes of the files that commands and rules name.
func (f *Folder) named(texts []string) map[string]string {
	if len(texts) == 0 {
		return nil
	}
	h := f.newHasher()
	defer h.close()
	all := make(map[string]string)
	for _, text := range texts {
		found := h.content([]string{strings.NewReplacer(":*", " ", "*", " ").Replace(text)})
		b := h.newBinder()
		b.command(text)
		maps.DeleteFunc(found, func(name, _ string) bool { return b.written[name] && b.found[name] == "" })
		maps.Copy(all, found)
	}
	return all
}

// Agreed reports whether a user has agreed to a claim as it is. Where that
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
