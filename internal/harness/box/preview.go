package box

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/internal/preview"
	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/workspace"
)

// Preview says what a previewed command sees and where its changes go, in a session and
// by hand: the shell and the command are left to the caller. It hides what the read-only
// Spec of [Boxes.Command] hides.
func (b *Boxes) Preview(readOnly *sandbox.Spec, g *guard.Guard) (preview.Request, error) {
	dirs, err := preview.Folders(b.Dir)
	if err != nil {
		return preview.Request{}, err
	}
	for _, root := range sandbox.Resolve(g.Roots()...) {
		if !containedIn(dirs, root) {
			dirs = append(dirs, root)
		}
	}
	return preview.Request{
		Dirs: dirs, Home: homeBeside(dirs), Store: filepath.Join(workspace.StateDir(), "previews"),
		Hide: readOnly.Hide, Scratch: readOnly.Scratch, Protected: protectedBy(g),
	}, nil
}

// homeBeside is the user's home, if it is not inside one of the folders.
func homeBeside(dirs []string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if home, err = filepath.EvalSymlinks(home); err != nil || home == "/" || containedIn(dirs, home) {
		return ""
	}
	return home
}

func containedIn(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return pathin.Contains(dir, path) })
}

// protectedBy says why it matters who changes a file.
func protectedBy(g *guard.Guard) func(string) string {
	return func(path string) string {
		if s := g.Look(path).Sensitive; s.Write != guard.Allow {
			return s.Written()
		}
		return ""
	}
}
