package preview

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A stamp tells whether a file is still the one that was read.
type stamp struct {
	ctime int64
	ino   uint64
}

// A present is the folders as they are at a moment.
type present struct {
	reader
	parents map[string]bool // whether a folder is where its name says, without links
}

func newPresent(l Limits) *present {
	return &present{reader: reader{limits: l}, parents: map[string]bool{}}
}

// look describes what is at a path now. A file that is as it was is not read again.
func (p *present) look(path string, before version) (version, error) {
	parent := filepath.Dir(path)
	real, known := p.parents[parent]
	if !known {
		at, err := filepath.EvalSymlinks(parent)
		real = err == nil && at == parent
		p.parents[parent] = real
	}
	if !real {
		return version{}, nil
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return version{}, nil
	}
	if err != nil {
		return version{}, err
	}
	if before.stamp != (stamp{}) && before.stamp == stampOf(info) && !info.IsDir() {
		return before, nil
	}
	from, err := openFolder(parent, false)
	if err != nil {
		return version{}, err
	}
	defer from.Close()
	st, err := from.stat(filepath.Base(path))
	if err != nil {
		return version{}, err
	}
	return p.describe(from, filepath.Base(path), st)
}

// moveShell lets the next command start where the applied one ended.
func (r *Result) moveShell() {
	if r.dir != "" && r.dir != r.request.Shell.Dir() {
		_ = r.request.Shell.Move(r.dir) // it may be gone by now
	}
}
