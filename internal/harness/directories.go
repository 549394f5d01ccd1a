package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
)

// AddDirectories lets tools and MCP servers use more folders, for the rest of the session.
func (c *Conversation) AddDirectories(dirs []string) error {
	defer c.tellRoots()
	return c.World.AddDirectories(dirs)
}

// RemoveDirectories takes folders back. The project itself stays.
func (c *Conversation) RemoveDirectories(dirs []string) error {
	defer c.tellRoots()
	return c.World.RemoveDirectories(dirs)
}

func (c *Conversation) tellRoots() { c.MCP.SetRoots(c.World.Engine.Guard().Roots()) }

// AddDirectories lets tools work in more folders, for the rest of the session.
func (w *World) AddDirectories(dirs []string) error {
	return w.changeRoots(func(roots []string) ([]string, error) {
		for _, dir := range dirs {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(w.Project.Dir, dir)
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return nil, fmt.Errorf("%s is not a folder", dir)
			}
			if !slices.Contains(roots, dir) {
				roots = append(roots, dir)
			}
		}
		return roots, nil
	})
}

// RemoveDirectories takes folders back. The project itself stays.
func (w *World) RemoveDirectories(dirs []string) error {
	return w.changeRoots(func(roots []string) ([]string, error) {
		return append(roots[:1:1], slices.DeleteFunc(roots[1:], func(dir string) bool { return slices.Contains(dirs, dir) })...), nil
	})
}

// changeRoots judges calls by other roots from now on.
func (w *World) changeRoots(change func([]string) ([]string, error)) error {
	roots, err := change(slices.Clone(w.Engine.Guard().Roots()))
	if err != nil {
		return err
	}
	g, err := w.Project.GuardOf(roots, w.Engine.Guard().Cwd())
	if err != nil {
		return err
	}
	w.Engine.SetGuard(g)
	return nil
}

// Seed records that the main conversation knows a file as it was at a time. A file that has
// changed since is not known.
func (w *World) Seed(path string, modified time.Time) error {
	facts := w.Files.Look(path)
	f, err := w.Files.Load(facts)
	if err != nil {
		return err
	}
	if f.Info.ModTime.Truncate(time.Millisecond).After(modified) {
		return nil
	}
	e := readstate.Entry{Path: f.Path, Hash: f.Hash, Size: f.Info.Size, ModTime: f.Info.ModTime, Base: f.Raw, Ranges: []readstate.Range{workspace.Whole}}
	if f.Text != nil {
		e.Encoding, e.EOL = f.Text.Encoding().String(), string(f.Text.EOL())
	}
	w.Files.Saw("", e)
	return nil
}
