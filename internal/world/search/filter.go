package search

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/search/filetype"
	"github.com/haftdev/haft/internal/world/search/glob"
	"github.com/haftdev/haft/internal/world/search/tree"
)

// filter decides by name which files of a tree a query looks at.
type filter struct {
	rules    []globRule
	include  bool // some rule includes: what none matches is out
	excludes bool // some rule excludes: directories may be out as a whole
	types    *filetype.Matcher
	dir      string // what globs are relative to, with a trailing slash
	path     string // the directory searched, likewise
	dirs     map[*tree.Dir]bool
}

type globRule struct {
	glob    *glob.Glob
	base    bool // looks at the last element only
	exclude bool
	dirOnly bool
}

// GlobError reports an invalid glob.
type GlobError struct {
	Glob string
	Err  error
}

func (e *GlobError) Error() string { return "glob " + e.Glob + ": " + e.Err.Error() }
func (e *GlobError) Unwrap() error { return e.Err }

func newFilter(q *Query) (*filter, error) {
	f := &filter{dir: withSlash(q.Dir), path: withSlash(q.Path), dirs: map[*tree.Dir]bool{}}
	for _, g := range q.Globs {
		if err := f.add(g); err != nil {
			return nil, err
		}
	}
	if len(q.Types) > 0 {
		m, err := filetype.New(q.Types...)
		if err != nil {
			return nil, err
		}
		f.types = m
	}
	return f, nil
}

func (f *filter) add(g string) error {
	r := globRule{}
	text := g
	if strings.HasPrefix(text, "!") {
		r.exclude, text = true, text[1:]
	}
	if strings.HasSuffix(text, "/") {
		r.dirOnly, text = true, strings.TrimSuffix(text, "/")
	}
	text = strings.TrimPrefix(text, "./")
	if !strings.Contains(text, "/") {
		text = "**/" + text
	}
	text = strings.TrimPrefix(text, "/")
	var err error
	if r.glob, err = glob.Compile(text, &glob.Options{Braces: true}); err != nil {
		return &GlobError{g, err}
	}
	r.base = r.glob.BaseOnly()
	f.rules = append(f.rules, r)
	f.include = f.include || !r.exclude
	f.excludes = f.excludes || r.exclude
	return nil
}

// match decides one file. Not safe for concurrent use.
func (f *filter) match(file *tree.File) bool {
	if f.types != nil && !f.types.Match(file.Name()) {
		return false
	}
	if len(f.rules) == 0 {
		return !file.Ignored
	}
	if f.excludes && f.excludedDir(file.Dir) {
		return false
	}
	switch f.verdict(file.Path, file.Name(), false) {
	case included:
		return true // even an ignored file
	case excluded:
		return false
	}
	return !f.include && !file.Ignored
}

type verdict uint8

const (
	unmatched verdict = iota
	included
	excluded
)

// verdict is that of the last rule that matches path, taken relative to the
// working directory or to the directory searched.
func (f *filter) verdict(path, name string, isDir bool) verdict {
	for _, r := range slices.Backward(f.rules) {
		if r.dirOnly && !isDir {
			continue
		}
		if r.base && r.glob.MatchBase(name) || !r.base && f.matchPath(r.glob, path) {
			if r.exclude {
				return excluded
			}
			return included
		}
	}
	return unmatched
}

func (f *filter) matchPath(g *glob.Glob, path string) bool {
	rel, ok := strings.CutPrefix(path, f.dir)
	if ok && g.Match(rel) {
		return true
	}
	if f.path == f.dir {
		return false
	}
	rel, ok = strings.CutPrefix(path, f.path)
	return ok && g.Match(rel)
}

// excludedDir reports whether d or a directory above it, within the search, is out.
func (f *filter) excludedDir(d *tree.Dir) bool {
	if len(d.Path) <= len(f.path) {
		return false
	}
	out, known := f.dirs[d]
	if !known {
		path := strings.TrimSuffix(d.Path, "/")
		name := path[strings.LastIndexByte(path, '/')+1:]
		out = f.verdict(path, name, true) == excluded || d.Parent() != nil && f.excludedDir(d.Parent())
		f.dirs[d] = out
	}
	return out
}

func withSlash(p string) string {
	if strings.HasSuffix(p, "/") {
		return p
	}
	return p + "/"
}
