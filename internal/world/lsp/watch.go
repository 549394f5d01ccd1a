package lsp

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// A watch knows which files of a language there are below the root: servers want to
// be told which of them have changed. It is used by one goroutine at a time.
type watch struct {
	files map[string]stamp // nil before the first look
}

// maxWatched is how many files are looked at. In a larger project servers hear only
// of the files that were asked about.
const maxWatched = 20_000

// A change is one of a file, as the protocol has it.
type change struct {
	URI  string `json:"uri"`
	Type int    `json:"type"`
}

const (
	created = iota + 1
	changed
	deleted
)

// changes returns what has changed since the last look; nothing at the first.
func (w *watch) changes(c *Client) []change {
	now := make(map[string]stamp)
	_ = filepath.WalkDir(c.root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be read is not the server's business either
		case d.IsDir():
			if path != c.root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "target") {
				return fs.SkipDir
			}
			return nil
		case len(now) >= maxWatched:
			return fs.SkipAll
		case !c.watches(path):
			return nil
		}
		if info, err := d.Info(); err == nil {
			now[path] = stampOf(info)
		}
		return nil
	})
	before := w.files
	w.files = now
	if before == nil || len(now) >= maxWatched || len(before) >= maxWatched {
		return nil
	}
	var list []change
	for path, s := range now {
		if was, ok := before[path]; !ok {
			list = append(list, change{URI(path), created})
		} else if was != s {
			list = append(list, change{URI(path), changed})
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			list = append(list, change{URI(path), deleted})
		}
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.URI, b.URI) })
	return list
}
