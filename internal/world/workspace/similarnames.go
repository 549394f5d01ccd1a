package workspace

import (
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/world/workspace/guard"
)

// similar returns up to three existing files that a missing path may have meant: the same path below the project, or a file
// beside it with nearly the same name.
func (w *Workspace) similar(f guard.Facts) []string {
	if p := w.belowRoot(f.Path); p != "" {
		return []string{p}
	}
	dir, base := filepath.Split(f.Real)
	entries, err := w.fs.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil
	}
	var names, out []string
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	const most = 5000
	for _, e := range entries[:min(len(entries), most)] {
		if strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())) == stem {
			out = append(out, e.Name()) // the same name with another extension
		} else {
			names = append(names, e.Name())
		}
	}
	out = append(near.Names(base, names, 3), out...)
	out = out[:min(len(out), 3)]
	for i := range out {
		out[i] = filepath.Join(filepath.Dir(f.Path), out[i])
	}
	return out
}

// belowRoot finds a tail of the path that exists under a root, as when a directory in the middle was made up.
func (w *Workspace) belowRoot(path string) string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
	for i := 1; i < len(parts); i++ {
		for _, root := range w.guard.Roots() {
			p := filepath.Join(root, filepath.Join(parts[i:]...))
			if info, err := w.fs.Lstat(p); err == nil && info.Mode.IsRegular() {
				return p
			}
		}
	}
	return ""
}
