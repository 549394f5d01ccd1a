package preview

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/sandbox"
)

// maxOutside is how many paths outside of the folders are listed.
const maxOutside = 100

// outside lists what was written in the user's home, which is dropped. Caches are
// counted only.
func (r *Result) outside(layer sandbox.Layer) {
	_ = filepath.WalkDir(layer.Upper, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(layer.Upper, path)
		if err != nil {
			return nil
		}
		full := filepath.Join(layer.Dir, rel)
		switch {
		case slices.ContainsFunc(r.dirs, func(d string) bool { return pathin.Contains(d, full) }):
		case isHomeCache(rel):
			r.Caches++
		case len(r.Outside) < maxOutside:
			r.Outside = append(r.Outside, full)
		}
		return nil
	})
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

// cacheNames are folders of which programs expect that they are deleted at any
// time. Folders that hold what was asked for, such as build and target, are none.
var cacheNames = []string{"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache", ".gocache", ".eslintcache", ".parcel-cache"}

func isCacheName(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if slices.Contains(cacheNames, part) {
			return true
		}
	}
	return false
}
