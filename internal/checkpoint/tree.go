package checkpoint

import (
	"encoding/gob"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/regular"
)

// A node is a file, link or directory as a scan found it.
type node struct {
	Mode         fs.FileMode
	Size         int64
	MTime, CTime int64
	Ino          uint64
	Digest       string // of a file's content; "" if it is not kept
	Git          string // git's object that has the content, where Digest is ""
	Link         string
	Closed       bool  // a directory that was not entered
	Secret       bool  // a file that is never copied
	Read         int64 // when the content was read
}

// known reports whether the node can be put back.
func (n *node) known() bool {
	return n.Mode.IsDir() || n.Mode&fs.ModeSymlink != 0 || n.Digest != "" || n.Git != ""
}

func (n *node) file() File {
	if n == nil {
		return File{}
	}
	return File{Digest: n.Digest, Mode: n.Mode, Link: n.Link}
}

// equal reports whether two looks found the same. A content that is named in two ways
// counts as different.
func (n *node) equal(o *node) bool {
	return n == o || n.file() == o.file() && n.Git == o.Git && n.Closed == o.Closed
}

// A tree is what is under a root, by path relative to it. It is not changed once
// it is made.
type tree struct {
	Nodes map[string]*node
	// Off says why nothing was looked at: then the tree is empty, and nothing can be
	// told by it.
	Off string
	// Missed are files whose content is not kept, by the reason.
	Missed [reasons]missed
}

// A reason is why the content of a file is not kept.
type reason int

const (
	tooLarge reason = iota // or it cannot be read
	tooMuch
	tooLate
	isSecret
	reasons
)

// missed counts files.
type missed struct {
	Count int
	First string
}

func (t *tree) miss(path string, why reason) {
	m := &t.Missed[why]
	if m.Count++; m.Count == 1 || path < m.First {
		m.First = path
	}
}

// A change is a path at which two looks differ; nil where there is nothing.
type change struct {
	path     string
	old, now *node
}

// diff returns what must be known to go from after back to t, by path.
func (t *tree) diff(after *tree) (changes []change) {
	if t.Off != "" || after.Off != "" {
		return nil
	}
	for path, n := range after.Nodes {
		if old := t.Nodes[path]; old == nil && !t.closedAbove(path) || old != nil && !old.Closed && !old.equal(n) {
			changes = append(changes, change{path, old, n})
		}
	}
	for path, old := range t.Nodes {
		if after.Nodes[path] == nil {
			changes = append(changes, change{path, old, nil})
		}
	}
	changes = slices.DeleteFunc(changes, func(c change) bool {
		// It could not be put back, or not be told from what another program made of it.
		return c.old != nil && (!c.old.known() || c.old.Closed) || c.now != nil && (!c.now.known() || c.now.Closed)
	})
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return changes
}

// covers reports whether a change of the file at a path shows in a later tree.
func (t *tree) covers(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	rel = filepath.ToSlash(rel)
	if err != nil || t.Off != "" || strings.HasPrefix(rel, "../") || slices.Contains(strings.Split(rel, "/"), ".git") {
		return false
	}
	n := t.Nodes[rel]
	return !t.closedAbove(rel) && (n == nil || n.known())
}

// closedAbove reports whether the path lies in a directory that was there but not
// looked into: what is in it is not new.
func (t *tree) closedAbove(path string) bool {
	for {
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[:i]
		if n := t.Nodes[path]; n != nil && n.Closed {
			return true
		}
	}
}

// loadTree reads a tree that was saved, or returns nil.
func loadTree(path string) *tree {
	file, err := regular.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	t := &tree{}
	if gob.NewDecoder(file).Decode(t) != nil || t.Nodes == nil {
		return nil
	}
	return t
}
