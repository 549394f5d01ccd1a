// Package rewrite changes small files that many processes change.
//
// [File] reads a file, lets a function change its text and puts the new text in
// its place, under a lock that every haft process takes: of a hundred changes at
// once none is lost. The new text replaces the old in one step, so that a crash,
// a full disk or a reader in between finds one or the other, whole.
//
// The lock is on the folder and leaves nothing behind. Programs that do not take
// it (an editor) can still overwrite a change, as they always could.
//
// Everything is safe for concurrent use, in one process and across processes.
package rewrite

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// MaxSize is the size of the largest file that is read, in bytes.
const MaxSize = 1 << 20

// errTooLarge means that a file has more than [MaxSize] bytes.
var errTooLarge = fmt.Errorf("larger than %d bytes", MaxSize)

// errNotRegular means that a path names a folder, a device or a pipe.
var errNotRegular = errors.New("not a regular file")

const (
	patience = 15 * time.Second // how long to wait for others who change the file
	pause    = 2 * time.Millisecond
)

// Options are how a file is made. Nil means all zero values.
type Options struct {
	// Perm is the mode of a file that does not exist yet; 0 means 0644. A file
	// that exists keeps its mode.
	Perm fs.FileMode
	// DirPerm is the mode of folders that do not exist yet; 0 means 0755.
	DirPerm fs.FileMode
}

// File changes the file name, a slash-separated path below root. Change gets the
// text, nil if there is no file, and returns the new one; the same again, or an
// error, writes nothing. Links that lead out of root are not followed, and name
// itself must not be a link.
func File(ctx context.Context, root *os.Root, name string, change func(old []byte) ([]byte, error), opts *Options) error {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Perm == 0 {
		o.Perm = 0o644
	}
	if o.DirPerm == 0 {
		o.DirPerm = 0o755
	}
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, o.DirPerm); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(root.Name(), filepath.FromSlash(dir)))
	if err != nil {
		return err
	}
	defer unlock()

	sweep(root, name)
	old, perm, err := read(root, name, o.Perm)
	if err != nil {
		return err
	}
	text, err := change(old)
	if err != nil {
		return err
	}
	if bytes.Equal(text, old) && (old != nil || text == nil) {
		return nil
	}
	return replace(root, name, text, perm)
}

// lock waits until the caller is the only one that holds dir.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if runtime.GOOS == "windows" {
		l = lockFile(dir)
	}
	held, err := l.TryLockContext(ctx, pause)
	if err != nil && ctx.Err() == nil {
		// Some network file systems lock files only, and only writable ones.
		l = lockFile(dir)
		held, err = l.TryLockContext(ctx, pause)
	}
	if err != nil || !held {
		return nil, fmt.Errorf("wait for other programs that change files in %s: %w", dir, err)
	}
	return func() { l.Close() }, nil
}

func lockFile(dir string) *flock.Flock { return flock.New(filepath.Join(dir, ".haft.lock")) }

// read returns the text and mode of a file, or nil and perm if there is none.
func read(root *os.Root, name string, perm fs.FileMode) ([]byte, fs.FileMode, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, perm, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil, 0, &fs.PathError{Op: "rewrite", Path: filepath.Join(root.Name(), name), Err: errors.New("it is a symbolic link")}
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	text, err := ReadAll(f)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return text, info.Mode().Perm(), nil
}

// ReadAll returns the text of a regular file that is not too large.
func ReadAll(f fs.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxSize {
		return nil, errTooLarge
	}
	return text, nil
}

// tempName is how temporary files are called: their beginning and end.
func tempName(name string) (prefix, suffix string) { return "." + path.Base(name) + ".", ".haft.tmp" }

// sweep removes what interrupted changes left. Whoever holds the lock may: nobody
// else is in the middle of one.
func sweep(root *os.Root, name string) {
	dir, err := root.Open(path.Dir(name))
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	prefix, suffix := tempName(name)
	for _, n := range names {
		if strings.HasPrefix(n, prefix) && strings.HasSuffix(n, suffix) {
			root.Remove(path.Join(path.Dir(name), n))
		}
	}
}

// replace puts text in the place of the file in one step.
func replace(root *os.Root, name string, text []byte, perm fs.FileMode) (err error) {
	prefix, suffix := tempName(name)
	temp := path.Join(path.Dir(name), prefix+rand.Text()[:8]+suffix)
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return fmt.Errorf("make temporary file: %w", err)
	}
	defer func() {
		if err != nil {
			root.Remove(temp)
		}
	}()
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(perm) // whatever the umask says
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	return syncDir(root, path.Dir(name))
}

// syncDir makes the new name last; where folders cannot be synced it need not.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) && runtime.GOOS != "windows" {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}
