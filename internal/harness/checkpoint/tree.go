package checkpoint

import (
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/regular"
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

// same reports whether nothing about the file has changed, as far as the file
// system can tell. A file that was changed in the instant in which it was read
// might have been changed again without a trace.
func (n *node) same(o *node) bool {
	const instant = int64(50e6)
	return n.Mode == o.Mode && n.Size == o.Size && n.MTime == o.MTime && n.CTime == o.CTime && n.Ino == o.Ino &&
		n.Read-max(n.MTime, n.CTime) > instant
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

func (m missed) text() string {
	if m.Count == 1 {
		return m.First
	}
	return fmt.Sprintf("%d files, including %s,", m.Count, m.First)
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

// save writes the tree to a file, whole or not at all.
func (t *tree) save(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("save the list of files: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".tree-*")
	if err != nil {
		return fmt.Errorf("save the list of files: %w", err)
	}
	err = gob.NewEncoder(temp).Encode(t)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return fmt.Errorf("save the list of files: %w", err)
	}
	return nil
}

// equal reports whether two trees are of the same files.
func (t *tree) equal(o *tree) bool {
	if len(t.Nodes) != len(o.Nodes) || t.Off != o.Off {
		return false
	}
	for path, n := range t.Nodes {
		m := o.Nodes[path]
		if m == nil || !m.equal(n) {
			return false
		}
	}
	return true
}

// restores reports whether the tree has all that is at a path. What a look leaves out, such
// as .git, is on the disk and not in the tree.
func (t *tree) restores(root, path string) bool {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if path == root || !t.covers(root, path) {
		return false
	}
	err := filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, path)
		if err != nil || rerr != nil {
			return cmp.Or(err, rerr)
		}
		if n := t.Nodes[filepath.ToSlash(rel)]; n == nil || n.Closed || !n.known() {
			return errNotKept
		}
		return nil
	})
	return err == nil || errors.Is(err, fs.ErrNotExist) // nothing is there
}

// errNotKept ends a walk.
var errNotKept = errors.New("it is not kept")

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
