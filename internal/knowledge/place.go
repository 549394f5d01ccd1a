package knowledge

import (
	"path/filepath"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge/shelf"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// A Place is a folder that has skills, commands and agents in folders of these
// names, such as ~/.claude.
type Place struct {
	Dir string
	// Root is the folder that no link may lead out of; "" means that links may
	// lead anywhere, as a user's own may.
	Root string
	// Source is whose it is. What is in a project counts only if it is trusted.
	Source settings.Source
	// Plugin is the plugin that Dir is; "" means none. Its name goes before those
	// of what it brings.
	Plugin string
	// Listed are the kinds of which Extra is all there is; nil means none.
	Listed map[Kind]bool
	// Extra are further folders and files of a kind, as slash-separated names below
	// Dir.
	Extra map[Kind][]string
}

// called is a name with that of the plugin before it.
func (p Place) called(name string) string {
	if p.Plugin != "" {
		name = p.Plugin + ":" + name
	}
	return name
}

// open returns the place's files, and the name that Dir has on the shelf.
func (p Place) open() (s *shelf.Shelf, dir string, err error) {
	if p.Root == "" {
		return shelf.Open(p.Dir), ".", nil
	}
	dir, err = filepath.Rel(p.Root, p.Dir)
	if err != nil {
		return nil, "", err
	}
	s, err = shelf.Confine(p.Root)
	return s, filepath.ToSlash(dir), err
}

// names are the folders that are places, the first before the other.
var names = []string{".haft", ".claude"}

// Places returns the user's places, and the project's for work in dir, which is
// the project itself or below it: those nearer to dir come first. An empty folder
// has none; an empty dir means the project. Shared is the user's folder that Claude Code
// reads too.
func Places(home, shared, project, dir string) (user, ofProject []Place) {
	if home != "" {
		user = append(user, Place{Dir: filepath.Join(home, ".haft"), Source: settings.User})
	}
	if shared != "" {
		user = append(user, Place{Dir: shared, Source: settings.User})
	}
	if project == "" {
		return user, nil
	}
	for _, folder := range upTo(project, dir) {
		for _, name := range names {
			if folder != home {
				ofProject = append(ofProject, Place{Dir: filepath.Join(folder, name), Root: project, Source: settings.Project})
			}
		}
	}
	return user, ofProject
}

// upTo returns the folders from dir up to the project.
func upTo(project, dir string) []string {
	rel, ok := pathin.Below(project, dir)
	if !ok {
		return []string{project}
	}
	var folders []string
	for at := filepath.Join(project, rel); at != project; at = filepath.Dir(at) {
		folders = append(folders, at)
	}
	return append(folders, project)
}
