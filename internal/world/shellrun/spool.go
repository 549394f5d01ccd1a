package shellrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// SpoolOptions limit the disk space of outputs. A nil *SpoolOptions means all zero values.
type SpoolOptions struct {
	Dir   string // where the files go; empty means a temporary directory that is removed with the host
	Task  int64  // bytes that one output may take; zero means 64 MB
	Total int64  // bytes that all outputs together may take; zero means 1 GB
	// Prepare, if not nil, is called before the first file is created.
	Prepare func()
	Keep    time.Duration // files in Dir older than this are removed when the first new one is made; zero means 7 days
}

// A spool is the directory of output files and the account of their sizes. It
// is safe for concurrent use.
type spool struct {
	opts SpoolOptions

	mu    sync.Mutex
	dir   string // made with the first file
	used  int64
	ended []*spoolFile // files that nobody here writes to, oldest first: the first to go when space runs out
}

func newSpool(opts *SpoolOptions) *spool {
	var o SpoolOptions
	if opts != nil {
		o = *opts
	}
	if o.Task <= 0 {
		o.Task = 64 << 20
	}
	if o.Total <= 0 {
		o.Total = 1 << 30
	}
	if o.Keep <= 0 {
		o.Keep = 7 * 24 * time.Hour
	}
	return &spool{opts: o}
}

// directoryLocked returns the spool's directory, made and swept at first use.
func (s *spool) directoryLocked() (string, error) {
	if s.dir != "" {
		return s.dir, nil
	}
	if s.opts.Prepare != nil {
		s.opts.Prepare()
	}
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make a directory for command output: %w", err)
	}
	s.dir = s.opts.Dir
	s.sweepLocked()
	return s.dir, nil
}

// sweepLocked removes outputs of earlier runs that are past their time, and
// takes over the rest, to be removed when space runs out.
func (s *spool) sweepLocked() {
	names, _ := filepath.Glob(filepath.Join(s.dir, "*"+spoolSuffix))
	for _, name := range names {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		old := &spoolFile{spool: s, path: name, size: info.Size(), swept: info.ModTime()}
		if time.Since(old.swept) > s.opts.Keep && old.remove() {
			continue
		}
		s.used += old.size
		s.ended = append(s.ended, old)
	}
	slices.SortFunc(s.ended, func(a, b *spoolFile) int { return a.swept.Compare(b.swept) })
}

const spoolSuffix = ".output"

// create makes the file of one output. Other users cannot read it.
func (s *spool) create(name string) (*spoolFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, err := s.directoryLocked()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name+spoolSuffix)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file for command output: %w", err)
	}
	lock(file) // a process that cannot take it later leaves the file alone
	return &spoolFile{spool: s, path: path, file: file}, nil
}

// reserve takes up to n bytes of the quotas for f, and removes finished
// outputs, oldest first, to make room.
func (s *spool) reserve(f *spoolFile, n, keepFree int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(n, s.opts.Task-keepFree-f.size)
	for s.used+n > s.opts.Total-keepFree && len(s.ended) > 0 {
		oldest := s.ended[0]
		s.ended = s.ended[1:]
		if oldest.remove() {
			s.used -= oldest.size
		}
	}
	n = max(min(n, s.opts.Total-keepFree-s.used), 0)
	s.used += n
	f.size += n
	return n
}

func (s *spool) finished(f *spoolFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, f)
}

// fallBack sets the directory if none was given.
func (s *spool) fallBack(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opts.Dir == "" {
		s.opts.Dir = dir
	}
}

// A spoolFile is one output on disk. Its owner serialises the calls.
type spoolFile struct {
	spool *spool
	path  string
	file  *os.File
	size  int64 // reserved bytes; under spool.mu
	err   error // the first failed write: nothing is written after it

	swept time.Time // when it was last written, of a file from an earlier run
}

// remove deletes the file, unless another process still writes to it.
func (f *spoolFile) remove() bool {
	file, err := os.Open(f.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	return lock(file) && os.Remove(f.path) == nil
}

// write appends as much of p as the quotas allow, keepFree bytes of them set
// aside, and returns how much that was.
func (f *spoolFile) write(p []byte, keepFree int64) int {
	if f.err != nil {
		return 0
	}
	allowed := f.spool.reserve(f, int64(len(p)), keepFree)
	n, err := f.file.Write(p[:allowed])
	if err != nil {
		f.err = fmt.Errorf("write %s: %w", f.path, err)
	}
	return n
}

func (f *spoolFile) close() {
	f.file.Close()
	f.spool.finished(f)
}
