package checkpoint

import (
	"encoding/gob"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/regular"
	"github.com/haftdev/haft/session"
)

// A node is a file, link or directory as a scan found it.
type node struct {
	Mode         fs.FileMode
	Size         int64
	MTime, CTime int64
	Ino          uint64
	Digest       string // of a file's content; "" if it is not kept
	Link         string
	Closed       bool  // a directory that was not entered
	Read         int64 // when the content was read
}

// known reports whether the node can be put back.
func (n *node) known() bool {
	return n.Mode.IsDir() || n.Mode&fs.ModeSymlink != 0 || n.Digest != ""
}

func (n *node) file() File {
	if n == nil {
		return File{}
	}
	return File{Digest: n.Digest, Mode: n.Mode, Link: n.Link}
}

// A tree is what is under a root, by path relative to it. It is not changed once
// it is made.
type tree struct {
	Nodes map[string]*node
	// TooMany is set if there are more files than are looked at: then the tree is
	// empty, and nothing can be told by it.
	TooMany bool
	// Missed are files whose content is not kept, Count how many there are.
	Missed []string
	Count  int
}

const missedExamples = 20

func (t *tree) miss(path string) {
	if t.Count++; len(t.Missed) < missedExamples {
		t.Missed = append(t.Missed, path)
	}
}

// diff returns what must be known to go from after back to t.
func (t *tree) diff(after *tree, root, call string) (entries []session.Entry) {
	if t.TooMany || after.TooMany {
		return nil
	}
	paths := make([]string, 0, 16)
	for path, n := range after.Nodes {
		if old := t.Nodes[path]; old == nil && !t.closedAbove(path) || old != nil && !old.Closed && old.file() != n.file() {
			paths = append(paths, path)
		}
	}
	for path := range t.Nodes {
		if after.Nodes[path] == nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		old, now := t.Nodes[path], after.Nodes[path]
		if old != nil && (!old.known() || old.Closed) || now != nil && (!now.known() || now.Closed) {
			continue // it could not be put back, or not be told from what somebody else made of it
		}
		c := checkpointOf(call, filepath.Join(root, filepath.FromSlash(path)), old.file(), now.file())
		entries = append(entries, session.Entry{Checkpoint: &c})
	}
	return entries
}

// covers reports whether a change of the file at a path shows in a later tree.
func (t *tree) covers(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	rel = filepath.ToSlash(rel)
	if err != nil || t.TooMany || strings.HasPrefix(rel, "../") || slices.Contains(strings.Split(rel, "/"), ".git") {
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
