package knowledge

import (
	"path/filepath"

	"github.com/haftdev/haft/knowledge/shelf"
	"github.com/haftdev/haft/settings"
)

// A Place is a folder that has skills, commands and agents in folders of these
// names, such as ~/.claude.
type Place struct {
	Dir string
	// Root is the folder that no link may lead out of; "" means that links may
	// lead anywhere, as a person's own may.
	Root string
	// Source is whose it is. What is in a project counts only if it is trusted.
	Source settings.Source
	// Plugin is the plugin that Dir is; "" means none. Its name goes before those
	// of what it brings.
	Plugin string
	// Extra are further folders and files of a kind, as slash-separated names below
	// Dir.
	Extra map[Kind][]string
}

// Places returns the person's and the project's places, .haft before .claude. An
// empty folder has none.
func Places(home, project string) (user, ofProject []Place) {
	for _, name := range []string{".haft", ".claude"} {
		if home != "" {
			user = append(user, Place{Dir: filepath.Join(home, name), Source: settings.User})
		}
		if project != "" && project != home {
			ofProject = append(ofProject, Place{Dir: filepath.Join(project, name), Root: project, Source: settings.Project})
		}
	}
	return user, ofProject
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
