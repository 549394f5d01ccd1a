// Package search answers Grep and Glob queries about a directory tree, without starting a
// process for each.
//
// A [Searcher] works in layers, each of which falls back to the one below. At the bottom every
// query walks the tree and reads the files. Above that, the list of files is kept between
// queries and checked to be current at each one (package tree). Above that, signatures of the
// files' contents, built in the background, rule out most files that cannot match (package
// index). The other files are read, or taken from a bounded cache if they were read before. If
// a layer fails, the answer takes longer but is the same; no layer can make an answer stale.
//
// Results equal ripgrep's, with three deliberate differences: files are sorted newest first,
// `$` also matches before a carriage return, and version-control directories are never
// searched.
//
// A Searcher is safe for concurrent use. Closing it releases its watches and its memory. It
// reads files with the rights of this process and follows no symbolic links below the path it
// is given. The caller decides with Query.Allow what may be searched. Signatures are computed
// for other files too, but never leave this package.
package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/search/ignore"
	"github.com/haftdev/haft/internal/search/rawfs"
	"github.com/haftdev/haft/internal/search/rx"
	"github.com/haftdev/haft/internal/search/tree"
)

// Options configure a [Searcher].
type Options struct {
	// Workers is the number of files read at once; zero means one per processor.
	Workers int
	// MaxFileSize is the largest file that is searched; zero means 512 MB.
	MaxFileSize int64
	// Stateless forgets everything between queries.
	Stateless bool
	// NoWatch compares every file with the disk at each query instead of watching
	// directories.
	NoWatch bool
	// NoIndex reads every file at each query instead of keeping signatures.
	NoIndex bool
	// IndexFrom is the number of files from which a tree is indexed; zero means 200.
	IndexFrom int
	// CacheBytes is how much text of files is kept in memory; zero means 128 MB, and
	// less than zero none.
	CacheBytes int64
	// Saved is a folder in which lists and signatures of trees are kept for the next process;
	// empty means that none are kept. Trees on file systems that do not reliably report
	// changes are never kept.
	Saved string
	// Saves is called before anything is saved and can refuse it; nil refuses nothing. It must be
	// safe for concurrent use.
	Saves func() bool
	// SavedBytes limits the size of that folder; zero means 512 MB.
	SavedBytes int64
	// Private reports whether the signature of a file must not be saved: such files are always
	// read. Nil means none. It must be safe for concurrent use.
	Private func(path string) bool
	// Global returns the user's ignore rules for all repositories; nil means those that git
	// would find in the environment of this process.
	Global func() ignore.Global

	// Decode returns the text of a file that is neither UTF-8 nor binary; ok is false if it is
	// not text. It must be safe for concurrent use. Nil means that the bytes are searched as
	// they are.
	Decode func(path string, raw []byte) (d Decoded, ok bool)

	portable   bool // for tests: as on a processor without vectors
	saveAlways bool // for tests: save whenever it is possible
}

// Decoded is the text of a file in another encoding.
type Decoded struct {
	Text     []byte
	Doubtful bool // the encoding is a guess, based on too little text
	Volatile bool // it depends on more than the bytes and is therefore not cached
}

// Searcher answers queries.
type Searcher struct {
	opts     Options
	workers  sync.Pool
	patterns patterns
	trees    trees
}

// New makes a searcher. o may be nil.
func New(o *Options) *Searcher {
	s := &Searcher{}
	if o != nil {
		s.opts = *o
	}
	if s.opts.Workers <= 0 {
		s.opts.Workers = runtime.GOMAXPROCS(0)
	}
	if s.opts.MaxFileSize <= 0 {
		s.opts.MaxFileSize = 512 << 20
	}
	if s.opts.IndexFrom <= 0 {
		s.opts.IndexFrom = indexFrom
	}
	if s.opts.CacheBytes == 0 {
		s.opts.CacheBytes = 128 << 20
	}
	if s.opts.SavedBytes <= 0 {
		s.opts.SavedBytes = savedBytes
	}
	if s.opts.Global == nil {
		s.opts.Global = func() ignore.Global { return ignore.LoadGlobal(os.Getenv) }
	}
	s.trees.opts, s.trees.texts.max = &s.opts, s.opts.CacheBytes
	s.trees.life, s.trees.end = context.WithCancel(context.Background())
	return s
}

// Prepare starts listing the directory dir in the background, so that the first query takes
// less time. A stateless searcher does nothing.
func (s *Searcher) Prepare(dir string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(real) {
		s.trees.prepare(real, real)
	}
}

// Close releases everything that the searcher holds, after saving what is to be saved.
func (s *Searcher) Close() error {
	s.trees.close()
	return nil
}

const (
	defaultTime  = 60 * time.Second
	defaultFiles = 2_000_000
)

func (b Budget) withDefaults() Budget {
	if b.Time <= 0 {
		b.Time = defaultTime
	}
	if b.Files <= 0 {
		b.Files = defaultFiles
	}
	return b
}

// Grep answers q. Errors are those of the pattern ([rx.SyntaxError]), the globs
// ([GlobError]), the types ([filetype.UnknownError]), the path or ctx; a budget
// that runs out is none.
func (s *Searcher) Grep(ctx context.Context, q Query) (*Result, error) {
	if err := clean(&q.Dir, &q.Path); err != nil {
		return nil, err
	}
	q.Budget = q.Budget.withDefaults()
	pattern, err := s.patterns.compile(q.Pattern, rx.Options{IgnoreCase: q.IgnoreCase, Multiline: q.Multiline, Portable: s.opts.portable})
	if err != nil {
		return nil, err
	}
	f, err := newFilter(&q)
	if err != nil {
		return nil, err
	}
	sc := &scan{s: s, q: &q, pattern: pattern, filter: f}
	budget, cancel := context.WithTimeout(ctx, q.Budget.Time)
	defer cancel()
	if err := sc.answer(budget); err != nil {
		if budget.Err() == nil {
			return nil, err
		}
		sc.halt("time")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if why := sc.stop.Load(); why != nil {
		sc.res.Partial = *why
	}
	return &sc.res, nil
}

// clean makes both paths absolute and clean.
func clean(dir, path *string) error {
	if !filepath.IsAbs(*dir) {
		return fmt.Errorf("search directory %q is not absolute", *dir)
	}
	*dir = filepath.Clean(*dir)
	if *path == "" {
		*path = *dir
	}
	if !filepath.IsAbs(*path) {
		*path = filepath.Join(*dir, *path)
	}
	*path = filepath.Clean(*path)
	return nil
}

// answer finds the files and searches them.
func (sc *scan) answer(ctx context.Context) error {
	path := sc.q.Path
	st, err := rawfs.StatPath(path)
	if err != nil {
		return &fs.PathError{Op: "search", Path: path, Err: err}
	}
	if st.Kind != rawfs.Directory {
		return sc.single(ctx, path, st.Mtime)
	}
	if l, err := rawfs.Lstat(path); err == nil && l.Kind == rawfs.Symlink {
		return sc.throughLink(ctx, path)
	}
	if done, err := sc.first(ctx, path); done || err != nil {
		return err
	}
	v, err := sc.s.trees.view(ctx, sc.q.Dir, path)
	if err != nil {
		return err
	}
	if v == nil {
		return sc.fresh(ctx, path)
	}
	sc.sorted, sc.shortIsEnd, sc.cache = true, v.local, v.cache
	sc.candidate = v.index.candidates(sc.pattern)
	sc.run(ctx, v.files)
	sc.s.trees.startWatch(v.kept)
	sc.s.trees.startIndex(v.kept)
	sc.res.Stats.Tree = v.tree.Skipped(path)
	return nil
}

// throughLink searches the directory that a link leads to. A link is followed when
// it is named; the results keep its name.
func (sc *scan) throughLink(ctx context.Context, link string) error {
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return &fs.PathError{Op: "search", Path: link, Err: err}
	}
	if sc.q.Dir == link {
		sc.q.Dir = real
	}
	sc.q.Path = real
	if sc.filter, err = newFilter(sc.q); err != nil {
		return err
	}
	if err := sc.answer(ctx); err != nil {
		return err
	}
	for i, h := range sc.res.Hits {
		sc.res.Hits[i].Path = filepath.Join(link, strings.TrimPrefix(h.Path, real))
	}
	return nil
}

// first answers the first query about a directory if that is too small for an index:
// it is searched in less time than it takes to make a list to keep, which is for later.
func (sc *scan) first(ctx context.Context, path string) (done bool, err error) {
	ts := &sc.s.trees
	if ts.opts.Stateless || path != covering(sc.q.Dir, path) || ts.find(path) != nil || ts.saved(path) {
		return false, nil
	}
	t, full, err := sc.walk(ctx, path, ts.opts.IndexFrom)
	if err != nil {
		return false, err
	}
	defer t.Close()
	if full {
		return false, nil
	}
	sc.once(ctx, t)
	ts.prepare(path, path)
	return true, nil
}

// fresh walks the directory for this query alone.
func (sc *scan) fresh(ctx context.Context, path string) error {
	t, full, err := sc.walk(ctx, path, sc.q.Budget.Files)
	if err != nil {
		return err
	}
	defer t.Close()
	if full {
		sc.halt("files")
	}
	sc.once(ctx, t)
	return nil
}

// walk lists path, until there are more than max files.
func (sc *scan) walk(ctx context.Context, path string, max int) (t *tree.Tree, full bool, err error) {
	t, err = tree.Build(ctx, path, &tree.Options{Global: sc.s.opts.Global, Workers: sc.s.opts.Workers, MaxFiles: max})
	if err != nil {
		return nil, false, &fs.PathError{Op: "search", Path: path, Err: err}
	}
	_, _, full = t.Size()
	return t, full, nil
}

// once searches the files of a tree that is not kept.
func (sc *scan) once(ctx context.Context, t *tree.Tree) {
	sc.shortIsEnd = rawfs.Local(t.Root)
	sc.run(ctx, t.Files(t.Root))
	sc.res.Stats.Tree = t.Skipped(t.Root)
}

// ErrDenied is returned if the query names a file that Query.Allow refuses.
var ErrDenied = errors.New("reading this file is not allowed")

// single searches one file that was named explicitly.
func (sc *scan) single(ctx context.Context, path string, mtime int64) error {
	if sc.q.Allow != nil && !sc.q.Allow(path) {
		return &fs.PathError{Op: "search", Path: path, Err: ErrDenied}
	}
	defer sc.watch(ctx)()
	w := sc.s.worker(sc)
	defer sc.s.release(w)
	w.r.explicit = true
	sc.res.Stats.Scanned = 1
	var st Stats
	hit, ok, err := w.named(path, &st)
	if err != nil {
		if w.refuse(err, &st); st.Unreadable > 0 {
			return &fs.PathError{Op: "search", Path: path, Err: err}
		}
	} else if ok {
		hit.Path, hit.Mtime = path, mtime
		sc.res.Hits, sc.res.More = []Hit{hit}, hit.cut
	}
	sc.res.Stats.add(st)
	return nil
}
