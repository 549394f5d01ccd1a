package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/secret"
	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// A scan lists a tree and keeps the contents that are not kept yet and that git does
// not have.
type scan struct {
	root     string
	opts     *Options
	exclude  []string
	last     *tree       // what was known before; never nil
	repo     *repository // nil without one, and if its objects may not be relied on
	secrets  secret.Where
	deadline time.Time
	put      func(count int) (put func(digest string, b []byte) error, done func(ok bool) error, err error)

	tree   *tree
	unread []string // files that must be read
	kept   int64    // bytes of the files whose content is kept
}

// run lists the tree. Files that are as they were are not read.
func (s *scan) run(ctx context.Context) (*tree, error) {
	s.tree = &tree{Nodes: make(map[string]*node, len(s.last.Nodes)+64)}
	rules, _ := ignore.Root(s.root, s.opts.ignored)
	if err := s.walk(ctx, s.root, "", rules); err != nil {
		return nil, err
	}
	if s.tree.Off != "" {
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
	if time.Now().After(s.deadline) {
		s.tree.Off = fmt.Sprintf("listing the files takes longer than %v", s.opts.MaxTime)
		return nil
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
			s.tree.Off = fmt.Sprintf("there are more than %d files", s.opts.MaxFiles)
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
		if err := s.walk(ctx, full, path+"/", rules); err != nil || s.tree.Off != "" {
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
	if old := s.last.Nodes[path]; old != nil && s.settled(old) && old.same(n) {
		s.note(path, old)
		return old
	}
	n.Read = time.Now().UnixNano()
	if s.secrets.Look(full).Level != secret.Open {
		n.Secret = true
		s.note(path, n)
		return n
	}
	if s.repo != nil {
		n.Git = s.repo.object(path, n)
	}
	if n.Git == "" || s.repo.converts {
		s.unread = append(s.unread, path)
	}
	return n
}

// settled reports whether nothing more is to be found out about a file that is as it
// was.
func (s *scan) settled(n *node) bool {
	return n.Digest != "" || n.Secret || n.Git != "" && s.repo != nil
}

func (s *scan) note(path string, n *node) {
	switch {
	case n.Secret:
		s.tree.miss(path, isSecret)
	case n.Digest != "":
		s.kept += n.Size
	}
}

// read keeps the contents of the files that are new or changed, the small ones first,
// because more of them is available.
func (s *scan) read(ctx context.Context) error {
	take := s.choose()
	if len(take) == 0 {
		return nil
	}
	put, done, err := s.put(len(take))
	if err != nil {
		return err
	}
	work := make(chan string)
	var mu sync.Mutex
	var first error
	var group sync.WaitGroup
	for range min(len(take), 2*runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for path := range work {
				why, err := s.keep(ctx, path, put)
				mu.Lock()
				if first == nil {
					first = err
				}
				if why >= 0 {
					s.tree.miss(path, why)
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
	if err := done(first == nil); first == nil {
		first = err
	}
	return first
}

// choose returns the files that are read. What is kept has a bound for the whole tree,
// not for each look, or a large one would be copied little by little.
func (s *scan) choose() (take []string) {
	slices.SortStableFunc(s.unread, func(a, b string) int { return cmp.Compare(s.tree.Nodes[a].Size, s.tree.Nodes[b].Size) })
	room := s.opts.MaxBytes - s.kept
	for _, path := range s.unread {
		n := s.tree.Nodes[path]
		switch {
		case n.Size > s.opts.MaxFileSize:
			n.Git = ""
			s.tree.miss(path, tooLarge)
		case n.Git != "": // it is only compared
			take = append(take, path)
		case n.Size > room:
			s.tree.miss(path, tooMuch)
		default:
			room -= n.Size
			take = append(take, path)
		}
	}
	return take
}

// keep reads one file and returns why its content is not kept, or -1. One that cannot
// be read is not covered; one that cannot be kept is an error.
func (s *scan) keep(ctx context.Context, path string, put func(string, []byte) error) (reason, error) {
	n := s.tree.Nodes[path]
	object := n.Git
	n.Git = ""
	if time.Now().After(s.deadline) {
		return tooLate, ctx.Err()
	}
	n.Read = time.Now().UnixNano()
	file, err := regular.Open(filepath.Join(s.root, filepath.FromSlash(path)))
	if err != nil {
		return tooLarge, nil
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, s.opts.MaxFileSize+1))
	if err != nil || int64(len(raw)) > s.opts.MaxFileSize {
		return tooLarge, nil
	}
	if object != "" && objectOf(raw) == object {
		n.Git = object
		return -1, nil
	}
	digest := blob.Digest(raw)
	if old := s.last.Nodes[path]; old != nil && old.Digest == digest {
		n.Digest = digest // kept by an earlier look, maybe in a pack: it was read again only because it was new then
		return -1, nil
	}
	if store, ok := s.opts.Blobs.(interface {
		PutFile(ctx context.Context, digest string, from *os.File, b []byte) error
	}); ok && len(raw) > blob.Small {
		err = store.PutFile(ctx, digest, file, raw)
	} else {
		err = put(digest, raw)
	}
	if err != nil {
		return -1, err
	}
	n.Digest = digest
	return -1, nil
}
