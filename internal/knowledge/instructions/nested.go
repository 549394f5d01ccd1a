package instructions

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// Nested are the instructions of folders that a conversation comes to only while it
// works: those of a folder are loaded when a file in it, or below it, is first read.
// Nested is safe for concurrent use.
type Nested struct {
	dir, home string
	opts      Options

	mu      sync.Mutex
	visited map[string]bool // folders, without links
	before  *loader         // what is loaded already; nil until the first file
}

// How much the folders of one conversation may bring, and how many are looked at.
const (
	maxNested  = 60_000
	maxVisited = 2_000
)

// NewNested returns the instructions of the folders below the root that [Load] does not
// read. The arguments are those of Load.
func NewNested(dir, home string, opts *Options) *Nested {
	n := &Nested{dir: dir, home: home, visited: make(map[string]bool)}
	if opts != nil {
		n.opts = *opts
	}
	return n
}

// For returns the instructions that a file brings which was read, without those that
// were loaded before. A file outside the root brings none, and neither does one of a
// dependency or of a repository's own storage: nobody has written them for this project.
func (n *Nested) For(file string) ([]File, []knowledge.Problem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	dir := filepath.Dir(file)
	if !n.visited[dir] { // those are physical
		var err error
		if dir, err = real(dir); err != nil {
			return nil, nil
		}
	}
	known := n.visited[dir] || len(n.visited) >= maxVisited
	if known && (n.before == nil || len(n.before.waiting) == 0) {
		return nil, nil
	}
	if !known {
		n.visited[dir] = true
	}
	l, err := n.loader()
	if err != nil {
		return nil, []knowledge.Problem{{Path: n.dir, Text: "could not read the instructions of its folders: " + err.Error()}}
	}
	defer l.close()
	n.before = l
	l.paths[filepath.Join(dir, filepath.Base(file))] = true // if it is one of them, the model knows it
	rel, ok := pathin.Below(l.root, dir)
	if !ok || foreign(rel) {
		return nil, nil
	}
	l.loadWaiting(filepath.Join(dir, filepath.Base(file)))
	if known {
		return l.files, l.problems
	}
	for _, folder := range l.folders(dir) {
		if folder == dir || !n.visited[folder] {
			n.visited[folder] = true
			l.loadFolder(folder)
		}
	}
	return l.files, l.problems
}

// loader returns one that knows what was loaded before, at first by [Load].
func (n *Nested) loader() (*loader, error) {
	l, err := newLoader(n.dir, n.home, &n.opts)
	if err != nil {
		return nil, err
	}
	if n.before != nil {
		l.paths, l.texts, l.left, l.looks, l.full = n.before.paths, n.before.texts, n.before.left, n.before.looks, n.before.full
		l.waiting = n.before.waiting
		return l, nil
	}
	l.loadAll()
	l.files, l.problems, l.full, l.left = nil, nil, false, min(l.opts.MaxTotal, maxNested)
	return l, nil
}

// foreign reports whether a folder of the project holds what others have written.
func foreign(rel string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		switch part {
		case ".git", "node_modules", "vendor", "site-packages":
			return true
		}
	}
	return false
}
