package search

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/search/glob"
	"github.com/haftdev/haft/internal/world/search/tree"
)

// GlobQuery is a search for files by name.
type GlobQuery struct {
	// Pattern is a path with *, ?, [classes], {a,b} and ** for any number of directories,
	// relative to Path. A pattern without a slash matches at any depth. Names that start with
	// a dot match like any other. The pattern may be absolute or begin with .. elements as
	// long as it does not leave Path.
	Pattern string
	// Dir, Path, Allow and Budget are as in [Query]; Path is a directory.
	Dir, Path string
	Allow     func(path string) bool
	Budget    Budget
	// Limit is the maximum number of files returned; all of them are counted. Zero means no
	// limit.
	Limit int
}

// GlobResult is the answer to a [GlobQuery].
type GlobResult struct {
	Files []string // newest first
	Total int      // how many match
	// Partial names the part of the budget that ran out, so that Total may be too
	// low; empty if none did.
	Partial string
	Stats   Stats
}

// OutsideError reports a pattern that leads out of the searched directory. Permission to
// search the directory does not cover other places.
type OutsideError struct {
	Pattern string
	Path    string // where the search was to be
	Dir     string // where the pattern leads
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("the pattern %s leads out of %s", e.Pattern, e.Path)
}

// matching runs one GlobQuery.
type matching struct {
	q    *GlobQuery
	glob *glob.Glob
	res  *GlobResult
	// scope is the directory that everything that matches is in, with a trailing slash.
	scope string
	// ignored counts files that match but are ignored: of those, and no others, the
	// result should tell.
	ignored int
}

func (m *matching) answer(ctx context.Context, s *Searcher) error {
	root := m.q.Path
	if real, err := filepath.EvalSymlinks(root); err == nil && real != root {
		defer m.rename(real, root)
		m.q.Path, root = real, real
	}
	v, err := s.trees.made(ctx, m.q.Dir, root)
	if err != nil {
		return err
	}
	m.scope = withSlash(filepath.Join(root, m.glob.Prefix()))
	if v != nil {
		m.match(v.files)
		m.tell(v.tree)
		return nil
	}
	// Names are had sooner by a walk for this pattern alone than by making a list of
	// everything to keep, which is for later.
	if err := m.walk(ctx, s, root); err != nil {
		return err
	}
	s.trees.prepare(m.q.Dir, root)
	return nil
}

// walk lists what matches, reading only directories that may hold some of it.
func (m *matching) walk(ctx context.Context, s *Searcher, root string) error {
	below := len(withSlash(root))
	o := &tree.Options{
		Times: true, Global: s.opts.Global, Workers: s.opts.Workers, MaxFiles: m.q.Budget.Files,
		Enter: m.leads,
		Keep:  func(path string, _ int) bool { return m.glob.Match(path[below:]) },
	}
	if m.glob.BaseOnly() {
		o.Keep = func(path string, name int) bool { return m.glob.MatchBase(path[name:]) }
	}
	if rec := s.trees.loadLocal(root); rec != nil {
		o.Saved = rec.list
		rec.close()
	}
	t, err := tree.Build(ctx, root, o)
	if err != nil {
		return &fs.PathError{Op: "search", Path: root, Err: err}
	}
	defer t.Close()
	if _, _, full := t.Size(); full {
		m.res.Partial = "files"
	}
	files := slices.Clone(t.Files(root))
	slices.SortFunc(files, tree.NewestFirst)
	m.match(files)
	m.tell(t)
	return nil
}

// leads reports whether dir is in the scope or on the way to it.
func (m *matching) leads(dir string) bool {
	n := len(m.scope) - 1
	if len(dir) < n {
		return m.scope[len(dir)] == '/' && strings.HasPrefix(m.scope, dir)
	}
	return strings.HasPrefix(dir, m.scope[:n]) && (len(dir) == n || dir[n] == '/')
}

// tell notes what was looked at and what was passed over, the same for a walk and for
// a list.
func (m *matching) tell(t *tree.Tree) {
	m.res.Stats.Tree = t.Passed(m.q.Path, m.scope)
	m.res.Stats.Scanned += m.res.Stats.Tree.Unwanted
	m.res.Stats.Tree.Unwanted, m.res.Stats.Tree.IgnoredFiles = 0, m.ignored
}

// rename gives results the name they were asked for by.
func (m *matching) rename(real, link string) {
	for i, f := range m.res.Files {
		m.res.Files[i] = filepath.Join(link, strings.TrimPrefix(f, real))
	}
}

// match takes files in order.
func (m *matching) match(files []*tree.File) {
	for _, f := range files {
		if !m.admit(f) {
			continue
		}
		if m.res.Total++; m.q.Limit <= 0 || m.res.Total <= m.q.Limit {
			m.res.Files = append(m.res.Files, f.Path)
		}
	}
}

func (m *matching) admit(f *tree.File) bool {
	if !m.leads(strings.TrimSuffix(f.Dir.Path, "/")) {
		return false
	}
	m.res.Stats.Scanned++
	if m.glob.BaseOnly() {
		if !m.glob.MatchBase(f.Name()) {
			return false
		}
	} else if !m.glob.Match(strings.TrimPrefix(f.Path[len(m.q.Path):], "/")) {
		return false
	}
	if f.Ignored {
		m.ignored++
		return false
	}
	if m.q.Allow != nil && !m.q.Allow(f.Path) {
		m.res.Stats.Denied++
		return false
	}
	return true
}
