package preview

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/checkpoint"
	"github.com/haftdev/haft/internal/workspace/blob"
)

// An entry is what becomes of one path.
type entry struct {
	path          string // absolute, as it is on the disk
	before, after version
	source        source // where the content of after is
	inPlace       bool   // the command wrote into the file instead of replacing it
	linked        bool   // the file has other names, and it is not known whether it was written into
}

// A version is a path before or after the run.
type version struct {
	checkpoint.File
	size int64
	raw  []byte // the content, unless it is too large to hold
	held bool   // raw is the content
	stamp
}

// A source is a file in a layer or a copy.
type source struct {
	root string
	name string
}

func (s source) read(max int64) ([]byte, error) {
	from, err := openFolder(s.root, true)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return readAll(from, s.name, max)
}

// The most that is held in memory for showing and merging.
const (
	maxHeld    = 1 << 20  // of one file
	maxAllHeld = 64 << 20 // of all
)

// A LimitError says that a command changed more than can be previewed.
type LimitError struct{ What string }

func (e *LimitError) Error() string {
	return "the command changed too much for a preview: " + e.What
}

// reader reads files within bounds.
type reader struct {
	limits Limits
	held   int64
	bytes  int64
	files  int
}

// file describes a regular file with its content.
func (r *reader) file(from folder, name string, info fs.FileInfo) (version, error) {
	v := version{File: checkpoint.File{Mode: info.Mode()}, size: info.Size()}
	if r.bytes += v.size; r.bytes > r.limits.Bytes {
		return v, &LimitError{fmt.Sprintf("more than %d MB", r.limits.Bytes>>20)}
	}
	if v.size <= maxHeld && r.held+v.size <= maxAllHeld {
		raw, err := readAll(from, name, maxHeld)
		if err != nil {
			return v, err
		}
		r.held += int64(len(raw))
		v.raw, v.held, v.size, v.Digest = raw, true, int64(len(raw)), blob.Digest(raw)
		return v, nil
	}
	file, err := from.openRegular(name)
	if err != nil {
		return v, err
	}
	defer file.Close()
	h := sha256.New()
	if v.size, err = io.Copy(h, file); err != nil {
		return v, err
	}
	v.Digest = hex.EncodeToString(h.Sum(nil))
	return v, nil
}

// other describes what is no regular file. It reports false of kinds that are left out.
func other(from folder, name string, info fs.FileInfo) (v version, ok bool, err error) {
	v.Mode = info.Mode()
	switch {
	case v.Mode.IsDir(), v.Mode&fs.ModeNamedPipe != 0:
		return v, true, nil
	case v.Mode&fs.ModeSymlink != 0:
		v.Link, err = from.Readlink(name)
		return v, true, err
	}
	return version{}, false, nil
}

// count takes one more path into account.
func (r *reader) count() error {
	if r.files++; r.files > r.limits.Files {
		return &LimitError{fmt.Sprintf("more than %d files", r.limits.Files)}
	}
	return nil
}

var errNotRegular = errors.New("it is no regular file any more")

func readAll(from folder, name string, max int64) ([]byte, error) {
	file, err := from.openRegular(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, max+1))
	if err == nil && int64(len(raw)) > max {
		err = fmt.Errorf("%s is larger than %d bytes", name, max)
	}
	return raw, err
}

// same reports whether nothing changed: a file was only touched.
func (e *entry) same() bool {
	return e.before.File == e.after.File
}

func sortEntries(list []entry) {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.path, b.path) })
}
