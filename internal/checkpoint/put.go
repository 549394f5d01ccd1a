package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/workspace/blob"
)

// put makes a path be as f says. Each step of it leaves the old or the new file,
// and none follows a link.
func put(ctx context.Context, path string, f File, blobs blob.Store) error {
	dir, name, err := openParent(path, f.Exists())
	if errors.Is(err, fs.ErrNotExist) && !f.Exists() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("put back %s: %w", path, err)
	}
	defer dir.Close()
	switch {
	case !f.Exists():
		err = remove(dir, name)
	case f.Mode.IsDir():
		err = putDir(dir, name, f.Mode)
	case f.Mode&fs.ModeSymlink != 0:
		err = replace(dir, name, func(temp string) error { return dir.Symlink(f.Link, temp) })
	default:
		var content []byte
		if content, err = blobs.Get(ctx, f.Digest); err == nil {
			err = replace(dir, name, func(temp string) error { return writeFile(dir, temp, content, f.Mode) })
		}
	}
	if err != nil {
		return fmt.Errorf("put back %s: %w", path, err)
	}
	return nil
}

// openParent opens the directory of a path that was physical when it was noted. A
// link on the way is somebody's trap, or a change that must not be written
// through: it is refused.
func openParent(path string, mkdir bool) (*os.Root, string, error) {
	parent := filepath.Dir(path)
	if mkdir {
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return nil, "", err
		}
	}
	real, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return nil, "", err
	}
	if real != parent {
		return nil, "", fmt.Errorf("a link leads to %s", real)
	}
	dir, err := os.OpenRoot(parent)
	return dir, filepath.Base(path), err
}

// remove deletes a file, a link or an empty directory. A directory that has
// something in it which no checkpoint knows stays.
func remove(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		inside, err := fs.ReadDir(dir.FS(), name)
		if err != nil || len(inside) > 0 {
			return err
		}
	}
	return dir.Remove(name)
}

func putDir(dir *os.Root, name string, mode fs.FileMode) error {
	info, err := dir.Lstat(name)
	if err == nil && !info.IsDir() {
		if err := dir.Remove(name); err != nil {
			return err
		}
	}
	if err != nil || !info.IsDir() {
		if err := dir.Mkdir(name, mode.Perm()); err != nil {
			return err
		}
	}
	return dir.Chmod(name, mode&(fs.ModePerm|fs.ModeSetgid|fs.ModeSticky))
}

// replace makes something under a temporary name and moves it into place. The
// name is the same each time, so that what a crash leaves is not left for ever.
func replace(dir *os.Root, name string, build func(temp string) error) error {
	temp := ".haft-rewind-" + blob.Digest([]byte(name))[:16]
	dir.Remove(temp)
	if err := build(temp); err != nil {
		dir.Remove(temp)
		return err
	}
	if info, err := dir.Lstat(name); err == nil && info.IsDir() {
		if err := dir.Remove(name); err != nil { // fails unless it is empty
			dir.Remove(temp)
			return err
		}
	}
	if err := dir.Rename(temp, name); err != nil {
		dir.Remove(temp)
		return err
	}
	return nil
}

func writeFile(dir *os.Root, name string, content []byte, mode fs.FileMode) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Chmod(mode.Perm()), file.Sync(), file.Close())
}
