//go:build !linux

package rawfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is an open file or directory.
type File struct {
	f    *os.File
	path string
}

// Open opens a file for reading. path is followed by a NUL byte. Only regular
// files are opened, so that it never waits on a FIFO.
func Open(path []byte, follow bool) (File, error) {
	name := string(path[:len(path)-1])
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	fi, err := stat(name)
	if err != nil {
		return File{}, err
	}
	if !fi.Mode().IsRegular() {
		return File{}, fs.ErrInvalid
	}
	f, err := os.Open(name)
	return File{f, name}, err
}

// OpenDir opens a directory for listing.
func OpenDir(path string) (File, error) {
	f, err := os.Open(path)
	return File{f, path}, err
}

// Close closes f.
func (f File) Close() { f.f.Close() }

// Read reads up to len(b) bytes; 0 is the end.
func (f File) Read(b []byte) (int, error) {
	n, err := f.f.Read(b)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// Rewind makes the next Read start at the beginning.
func (f File) Rewind() error {
	_, err := f.f.Seek(0, io.SeekStart)
	return err
}

// Stat describes the open file.
func (f File) Stat() (Stat, error) {
	fi, err := f.f.Stat()
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(fi), nil
}

// Lstat describes the file at path.
func Lstat(path string) (Stat, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(fi), nil
}

// StatPath describes what path leads to.
func StatPath(path string) (Stat, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(fi), nil
}

func fromInfo(fi fs.FileInfo) Stat {
	return Stat{Mtime: fi.ModTime().UnixNano(), Size: fi.Size(), Links: 1, Kind: kindOf(fi.Mode())}
}

func kindOf(m fs.FileMode) Kind {
	switch {
	case m.IsRegular():
		return Regular
	case m.IsDir():
		return Directory
	case m&fs.ModeSymlink != 0:
		return Symlink
	}
	return Other
}

// Entry is one entry of a directory. Its name is valid until the visit returns.
type Entry struct {
	Kind Kind
	Name []byte
	path string
}

// Stat describes the entry itself, not what it links to.
func (e *Entry) Stat() (Stat, error) { return Lstat(e.path) }

// StatEntry describes an entry of the open directory f, not what it links to.
func (f File) StatEntry(name []byte) (Stat, error) { return Lstat(filepath.Join(f.path, string(name))) }

// List calls visit for every entry of the open directory f.
func (f File) List(_ []byte, visit func(*Entry)) error {
	entries, err := f.f.ReadDir(-1)
	for _, d := range entries {
		visit(&Entry{Kind: kindOf(d.Type()), Name: []byte(d.Name()), path: filepath.Join(f.path, d.Name())})
	}
	return err
}

// Local reports whether changes can be trusted to be announced; here they never
// are.
func Local(string) bool { return false }
