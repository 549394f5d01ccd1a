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
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/search/glob"
	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/rawfs"
	"github.com/haftdev/haft/internal/world/search/rx"
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

// Glob answers q. Errors are those of the pattern ([GlobError], [OutsideError]), the
// path or ctx.
func (s *Searcher) Glob(ctx context.Context, q GlobQuery) (*GlobResult, error) {
	if err := rebase(&q); err != nil {
		return nil, err
	}
	g, err := compileGlob(q.Pattern)
	if err != nil {
		return nil, err
	}
	if err := checkDir(q.Path); err != nil {
		return nil, err
	}
	budget, cancel := context.WithTimeout(ctx, q.Budget.withDefaults().Time)
	defer cancel()
	m := &matching{q: &q, glob: g, res: &GlobResult{}}
	if err := m.answer(budget, s); err != nil && budget.Err() == nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if budget.Err() != nil {
		m.res.Partial = "time"
	}
	return m.res, nil
}

// rebase moves the leading directories of an absolute or ../ pattern to the path.
func rebase(q *GlobQuery) error {
	if err := clean(&q.Dir, &q.Path); err != nil {
		return err
	}
	q.Budget = q.Budget.withDefaults()
	given, base := q.Pattern, q.Path
	q.Pattern = path.Clean(q.Pattern)
	rest, absolute := strings.CutPrefix(q.Pattern, "/")
	if absolute {
		base, q.Pattern = "/", rest
	} else if q.Pattern != ".." && !strings.HasPrefix(q.Pattern, "../") {
		return nil
	}
	g, err := compileGlob(q.Pattern)
	if err != nil {
		return err
	}
	if p := g.Prefix(); p != "" {
		base = filepath.Join(base, p)
		q.Pattern = strings.TrimPrefix(q.Pattern, p+"/")
	}
	if !pathin.Contains(q.Path, base) {
		return &OutsideError{given, q.Path, base}
	}
	if q.Path = base; !strings.Contains(q.Pattern, "/") {
		q.Pattern = "/" + q.Pattern // in that directory, not at any depth
	}
	return nil
}

func compileGlob(pattern string) (*glob.Glob, error) {
	p, anchored := strings.CutPrefix(pattern, "/")
	if !anchored && !strings.Contains(p, "/") {
		p = "**/" + p
	}
	g, err := glob.Compile(p, &glob.Options{Braces: true})
	if err != nil {
		return nil, &GlobError{pattern, err}
	}
	return g, nil
}

func checkDir(path string) error {
	st, err := rawfs.StatPath(path)
	if err != nil {
		return &fs.PathError{Op: "search", Path: path, Err: err}
	}
	if st.Kind != rawfs.Directory {
		return &fs.PathError{Op: "search", Path: path, Err: fmt.Errorf("not a directory")}
	}
	return nil
}

// WaitIndexed waits until listing, watching and indexing have finished. It is for tests and
// benchmarks.
func (s *Searcher) WaitIndexed() {
	s.trees.mu.Lock()
	kept := slices.Clone(s.trees.kept)
	s.trees.mu.Unlock()
	for _, k := range kept {
		<-k.ready
		s.trees.mu.Lock()
		watched := k.watched
		s.trees.mu.Unlock()
		if watched != nil {
			<-watched
		}
		k.index.wait()
	}
}

// Memory returns how much memory the searcher uses now.
func (s *Searcher) Memory() Memory {
	s.trees.mu.Lock()
	kept := slices.Clone(s.trees.kept)
	s.trees.mu.Unlock()
	m := Memory{Texts: s.trees.texts.used.Load()}
	for _, k := range kept {
		<-k.ready
		if k.tree == nil {
			continue
		}
		m.List += k.tree.Memory()
		k.index.mu.Lock()
		if k.index.index != nil {
			n, _ := k.index.index.Size()
			m.Signatures += n
		}
		k.index.mu.Unlock()
	}
	return m
}

// worker takes an idle worker, whose buffers are warm, or makes one.
func (s *Searcher) worker(sc *scan) *worker {
	w, _ := s.workers.Get().(*worker)
	if w == nil {
		w = &worker{}
	}
	stop := func() bool { return sc.stop.Load() != nil }
	w.scan = sc
	w.r.max, w.r.stop, w.r.explicit, w.r.shortIsEnd = s.opts.MaxFileSize, stop, false, sc.shortIsEnd
	w.r.legacy = s.opts.Decode
	w.c = collector{q: sc.q, m: sc.pattern.Matcher(), max: sc.q.Limit}
	w.c.m.Stop = stop
	w.sieve, w.r.sieve = w.c.m.Sieve, nil
	return w
}

func (s *Searcher) release(w *worker) {
	w.r.close()
	w.scan.pattern.Release(w.c.m)
	w.scan, w.c, w.r.stop, w.sieve, w.r.sieve = nil, collector{}, nil, nil, nil
	s.workers.Put(w)
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

// ErrDenied is returned if the query names a file that Query.Allow refuses.
var ErrDenied = errors.New("reading this file is not allowed")
