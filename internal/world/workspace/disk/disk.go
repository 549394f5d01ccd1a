// Package disk is the seam through which the workspace reaches the file system.
//
// It differs from package os in one promise: a path given to OpenDir is followed without passing through a symbolic link,
// and every name given to a Dir is a single component that is never followed either. Whoever has resolved a path to its
// physical form can therefore open exactly what was looked at, whatever is swapped underneath in the meantime: a link that
// appears on the way is an error (ErrLink), not a detour. On Linux this is openat2(RESOLVE_NO_SYMLINKS), elsewhere a walk
// of open directories. Opening never blocks on a FIFO or device.
//
// Trust model: names, links and what is behind them may be changed by others at any time; nothing here is decided by a look
// that came before. It acts with the rights of the process. Other systems than Unix use os.Root: nothing leaves a directory
// that was opened, but a link inside it may be followed if it appears in the instant between the look and the opening.
//
// OS returns the real file system. Tests wrap it to make single operations fail. All implementations are safe for
// concurrent use; whoever opens a Dir or File closes it.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// FS is a file system as the workspace sees it. Paths are absolute and clean.
type FS interface {
	// Lstat describes what is at path without following a link at its end.
	Lstat(path string) (Info, error)
	Readlink(path string) (string, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	// OpenDir opens the directory at a physical path. A link anywhere on the way is ErrLink.
	OpenDir(path string) (Dir, error)
	// Space says how much is free for us on the file system that holds path.
	Space(path string) (free uint64, err error)
}

// Dir is an open directory. Names are single components; links are never followed.
type Dir interface {
	Open(name string, flag int, perm fs.FileMode) (File, error)
	OpenDir(name string) (Dir, error)
	Lstat(name string) (Info, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	// RenameNew is Rename that fails with fs.ErrExist when there is something at to.
	RenameNew(from, to string) error
	Remove(name string) error
	// Sync makes the directory's entries durable.
	Sync() error
	Close() error
}

// File is an open file.
type File interface {
	io.ReadWriteCloser
	io.ReaderAt
	io.WriterAt
	Stat() (Info, error)
	Sync() error
	Truncate(size int64) error
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
	// Reserve makes sure that size bytes fit without changing content or length. It succeeds where it cannot know.
	Reserve(size int64) error
	Xattrs() (map[string]string, error)
	SetXattr(name, value string) error
	RemoveXattr(name string) error
	// Lock takes the file's advisory lock and reports false when another process holds it. Closing the file, or dying,
	// gives it back.
	Lock() (bool, error)
}

// Info is what the file system knows about a file.
type Info struct {
	Mode     fs.FileMode // type and permission bits
	Size     int64
	ModTime  time.Time
	Dev, Ino uint64
	Links    uint64
	UID, GID int
}

// Same reports whether two descriptions are of one file with unchanged content, as far as the file system can tell.
func (i Info) Same(o Info) bool {
	return i.Dev == o.Dev && i.Ino == o.Ino && i.Size == o.Size && i.ModTime.Equal(o.ModTime)
}

// ErrLink says that a symbolic link stands where none was when the path was resolved.
var ErrLink = errors.New("a symbolic link is in the way")
