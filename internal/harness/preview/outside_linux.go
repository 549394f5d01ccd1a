package preview

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// outside lists what was changed in the user's home, which is dropped. Caches are
// counted only.
func (r *Result) outside(layer sandbox.Layer) {
	top, err := openFolder(layer.Upper, true)
	if err != nil {
		r.noteOutside(layer.Dir, ".")
		return
	}
	defer top.Close()
	if r.outsideIn(top, layer.Dir, ".", 0) == 0 && changedDir(top, layer.Dir) {
		r.noteOutside(layer.Dir, ".")
	}
}

// outsideIn looks at a folder of the layer and returns how many paths it found. A folder
// that cannot be read is one of them: a command cannot hide what it wrote.
func (r *Result) outsideIn(dir folder, home, rel string, depth int) (found int) {
	list, err := dir.list()
	if err != nil || depth > maxDepth {
		r.noteOutside(home, rel)
		return 1
	}
	for _, e := range list {
		name := join(rel, e.Name())
		full := filepath.Join(home, name)
		if slices.ContainsFunc(r.dirs, func(d string) bool { return pathin.Contains(d, full) }) {
			continue
		}
		if !e.IsDir() {
			r.noteOutside(home, name)
			found++
			continue
		}
		sub, err := dir.sub(e.Name())
		if err != nil {
			r.noteOutside(home, name)
			found++
			continue
		}
		below := r.outsideIn(sub, home, name, depth+1)
		if below == 0 && changedDir(sub, full) {
			r.noteOutside(home, name)
			below = 1
		}
		sub.Close()
		found += below
	}
	return found
}

// changedDir reports whether a folder of a layer is itself new, emptied or has another
// mode, and not only there because of what is in it.
func changedDir(dir folder, was string) bool {
	info, err := os.Lstat(was)
	if err != nil || !info.IsDir() || dir.attr("user.overlay.opaque") == "y" {
		return true
	}
	st, err := statFile(dir.fd)
	return err != nil || st.mode != info.Mode()
}

func (r *Result) noteOutside(home, rel string) {
	full := filepath.Join(home, rel)
	if isHomeCache(rel) || slices.ContainsFunc(r.request.Scratch, func(d string) bool { return pathin.Contains(d, full) }) {
		r.Caches++
		return
	}
	r.Outside = append(r.Outside, full)
}

func isHomeCache(rel string) bool {
	return isCacheName(rel) || slices.ContainsFunc(HomeCaches(), func(c string) bool { return pathin.Contains("/"+c, "/"+rel) })
}

// inCache reports whether a path lies in a cache of one of the folders.
func inCache(dirs []string, path string) bool {
	for _, dir := range dirs {
		if rel, ok := pathin.Below(dir, path); ok && isCacheName(rel) {
			return true
		}
	}
	return false
}

func isCacheName(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if slices.Contains(cacheNames, part) {
			return true
		}
	}
	return false
}
