package checkpoint

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/search/ignore"
	"github.com/haftdev/haft/internal/workspace/blob"
)

// A scan lists a tree and keeps the contents that are not kept yet.
type scan struct {
	root    string
	opts    *Options
	exclude []string
	last    *tree // what was known before; never nil
	tree    *tree
	unread  []string // files that must be read
}

// run lists the tree. Files that are as they were are not read.
func (s *scan) run(ctx context.Context) (*tree, error) {
	s.tree = &tree{Nodes: make(map[string]*node, len(s.last.Nodes)+64)}
	rules, _ := ignore.Root(s.root, s.opts.ignored)
	if err := s.walk(ctx, s.root, "", rules); err != nil {
		return nil, err
	}
	if s.tree.TooMany {
		s.tree.Nodes = map[string]*node{}
		return s.tree, nil
	}
	return s.tree, s.read(ctx)
}

// walk lists a directory. One that cannot be read has nothing in it for us.
func (s *scan) walk(ctx context.Context, dir, prefix string, rules *ignore.Dir) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && len(entries) == 0 {
		return nil
	}
	var marks ignore.Marks
	for _, e := range entries {
		marks |= ignore.MarkOf(e.Name())
	}
	rules = rules.Child(dir, marks)
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if len(s.tree.Nodes) >= s.opts.MaxFiles {
			s.tree.TooMany = true
			return nil
		}
		path, full := prefix+e.Name(), filepath.Join(dir, e.Name())
		n := s.look(path, full, e)
		if n == nil || slices.Contains(s.exclude, full) {
			continue
		}
		s.tree.Nodes[path] = n
		if !n.Mode.IsDir() {
			continue
		}
		if n.Closed = s.closed(path, full, rules); n.Closed {
			continue
		}
		if err := s.walk(ctx, full, path+"/", rules); err != nil || s.tree.TooMany {
			return err
		}
	}
	return nil
}

// closed reports whether a directory is not entered: it is ignored, and was
// already before. One that becomes ignored while we look stays in sight.
func (s *scan) closed(path, full string, rules *ignore.Dir) bool {
	if old := s.last.Nodes[path]; old != nil && old.Mode.IsDir() && !old.Closed {
		return false
	}
	return rules.Match(full, true) == ignore.Ignore
}

// look describes an entry, or returns nil if it is gone or of no kind that can be
// put back.
func (s *scan) look(path, full string, e fs.DirEntry) *node {
	info, err := e.Info()
	if err != nil {
		return nil
	}
	n := &node{Mode: info.Mode()}
	switch {
	case info.IsDir():
		return n
	case n.Mode&fs.ModeSymlink != 0:
		n.Link, err = os.Readlink(full)
		if err != nil {
			return nil
		}
		return n
	case !n.Mode.IsRegular():
		return nil
	}
	n.Size, n.MTime = info.Size(), info.ModTime().UnixNano()
	n.CTime, n.Ino = changed(info)
	if old := s.last.Nodes[path]; old != nil && old.Digest != "" && old.same(n) {
		return old
	}
	s.unread = append(s.unread, path)
	return n
}

// same reports whether nothing about the file has changed, as far as the file
// system can tell. A file that was changed in the instant in which it was read
// might have been changed again without a trace.
func (n *node) same(o *node) bool {
	const instant = int64(50e6)
	return n.Mode == o.Mode && n.Size == o.Size && n.MTime == o.MTime && n.CTime == o.CTime && n.Ino == o.Ino &&
		n.Read-max(n.MTime, n.CTime) > instant
}

// read keeps the contents of the files that are new or changed.
func (s *scan) read(ctx context.Context) error {
	var take []string
	room := s.opts.MaxBytes
	for _, path := range s.unread {
		n := s.tree.Nodes[path]
		if n == nil {
			continue
		}
		if room -= n.Size; n.Size > s.opts.MaxFileSize || room < 0 {
			room += n.Size
			s.tree.miss(path)
			continue
		}
		take = append(take, path)
	}
	work := make(chan string)
	var mu sync.Mutex
	var first error
	var group sync.WaitGroup
	for range min(len(take), 2*runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for path := range work {
				ok, err := s.keep(ctx, path)
				mu.Lock()
				if first == nil {
					first = err
				}
				if !ok {
					s.tree.miss(path)
				}
				mu.Unlock()
			}
		})
	}
	for _, path := range take {
		work <- path
	}
	close(work)
	group.Wait()
	return first
}

// keep reads one file. One that cannot be read is not covered; one that cannot be
// kept is an error.
func (s *scan) keep(ctx context.Context, path string) (bool, error) {
	n := s.tree.Nodes[path]
	now := time.Now().UnixNano()
	raw, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(path)))
	if err != nil || int64(len(raw)) > s.opts.MaxFileSize {
		return false, nil
	}
	digest := blob.Digest(raw)
	if err := s.opts.Blobs.Put(ctx, digest, raw); err != nil {
		return false, err
	}
	n.Digest, n.Read = digest, now
	return true, nil
}
