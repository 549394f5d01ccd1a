package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// A writer makes files be as the steps of a plan say.
type writer struct {
	blobs blob.Store
	many  bool // files are not brought to the disk one by one
}

// put makes a path be as its step says. Each step of it leaves the old or the new
// file, and none follows a link. A folder gets its final mode by modes, when what
// is in it is done.
func (w *writer) put(ctx context.Context, s *Step) error {
	f := s.Want
	dir, name, err := openParent(s.Path, f.Exists())
	if !f.Exists() && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLink)) {
		return nil // nothing is at the path itself
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", s.Path, err)
	}
	defer dir.Close()
	if err := w.enter(dir, func() error { return w.make(ctx, dir, name, s) }); err != nil {
		return fmt.Errorf("restore %s: %w", s.Path, err)
	}
	return nil
}

func (w *writer) make(ctx context.Context, dir *os.Root, name string, s *Step) error {
	f := s.Want
	switch {
	case !f.Exists() && s.Had.Digest != "":
		return w.takeAway(dir, name, s)
	case !f.Exists():
		return remove(dir, name)
	case f.Mode.IsDir():
		return putDir(dir, name, f.Mode)
	case f.Mode&fs.ModeSymlink != 0:
		return replace(dir, name, func(temp string) error { return dir.Symlink(f.Link, temp) })
	case f.Mode&fs.ModeNamedPipe != 0:
		return replace(dir, name, func(temp string) error { return makeFIFO(dir, temp, f.Mode) })
	}
	if info, err := dir.Lstat(name); err == nil && info.Mode().IsRegular() && s.Had.Digest == f.Digest && s.Had.Digest != "" && s.Had.Attrs == f.Attrs {
		return dir.Chmod(name, f.Mode&kept) // the file that a mode is changed of stays the same file
	}
	content, err := w.blobs.Get(ctx, f.Digest)
	if err != nil {
		return err
	}
	if s.InPlace && hasOtherNames(dir, name) {
		return writeInPlace(dir, name, content, f)
	}
	if s.Had.Exists() && s.Had.Digest == "" {
		return replace(dir, name, func(temp string) error { return w.writeFile(dir, temp, content, f) })
	}
	temp := tempName(name)
	dir.Remove(temp)
	err = w.writeFile(dir, temp, content, f)
	if err == nil {
		err = w.exchange(dir, temp, name, s)
	}
	if err != nil {
		dir.Remove(temp)
	}
	return err
}

// exchange puts a new file in the place of an old one, or of none, and makes sure
// that the old one is what the step says: another program may have come between.
func (w *writer) exchange(dir *os.Root, temp, name string, s *Step) error {
	err := swap(dir, temp, name)
	if errors.Is(err, fs.ErrNotExist) { // there is no old one
		err = moveToFree(dir, temp, name)
		if errors.Is(err, fs.ErrExist) {
			return &ConflictError{[]string{s.Path}}
		}
		return err
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return dir.Rename(temp, name)
	}
	if err != nil {
		return err
	}
	if !s.expects(dir, temp) {
		return errors.Join(&ConflictError{[]string{s.Path}}, swap(dir, temp, name))
	}
	return dir.Remove(temp)
}

// takeAway deletes a file, if it is what the step says.
func (w *writer) takeAway(dir *os.Root, name string, s *Step) error {
	temp := tempName(name)
	dir.Remove(temp)
	err := dir.Rename(name, temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !s.expects(dir, temp) {
		return errors.Join(&ConflictError{[]string{s.Path}}, moveToFree(dir, temp, name))
	}
	return dir.Remove(temp)
}

// kept are the bits of a mode that are put.
const kept = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// enter lets f write in a folder of which the user has taken away the right to,
// as a command can that gives it back to itself.
func (w *writer) enter(dir *os.Root, f func() error) error {
	err := f()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, failed := dir.Stat(".")
	if failed != nil || info.Mode()&0o300 == 0o300 || dir.Chmod(".", info.Mode()&kept|0o700) != nil {
		return err
	}
	return errors.Join(f(), dir.Chmod(".", info.Mode()&kept))
}

// modes gives the folders of done steps their modes, from the leaves up.
func (w *writer) modes(done []Step) error {
	for _, s := range slices.Backward(done) {
		if !s.Want.Mode.IsDir() {
			continue
		}
		dir, name, err := openParent(s.Path, false)
		if err != nil {
			return fmt.Errorf("restore %s: %w", s.Path, err)
		}
		err = errors.Join(setAttrs(dir, name, s.Want.Attrs), dir.Chmod(name, s.Want.Mode&kept))
		dir.Close()
		if err != nil {
			return fmt.Errorf("restore %s: %w", s.Path, err)
		}
	}
	return nil
}

// sync brings what was written to the disk, if that was not done with each file.
func (w *writer) sync(dir string) error {
	if !w.many {
		return nil
	}
	return syncAll(dir)
}

// errLink is for a path with a link in place of a folder.
var errLink = errors.New("a symbolic link leads elsewhere")

// openParent opens the directory of a path that was physical when it was noted. A
// link on the way is someone's trap, or a change that must not be written
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
		return nil, "", fmt.Errorf("%w, to %s", errLink, real)
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
		full, err := hasEntries(dir, name)
		if err != nil || full {
			return err
		}
	}
	return dir.Remove(name)
}

// hasEntries reports whether there is anything in a folder.
func hasEntries(dir *os.Root, name string) (bool, error) {
	folder, err := dir.Open(name)
	if err != nil {
		return false, err
	}
	defer folder.Close()
	inside, err := folder.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return len(inside) > 0, err
}

// putDir makes a folder in which its owner can write for now; see modes.
func putDir(dir *os.Root, name string, mode fs.FileMode) error {
	info, err := dir.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		if err := dir.Remove(name); err != nil {
			return err
		}
	}
	return dir.Mkdir(name, mode.Perm()|0o700)
}

// tempName is the same each time, so that what a crash leaves is not left for ever.
func tempName(name string) string { return ".haft-rewind-" + blob.Digest([]byte(name))[:16] }

// replace makes something under a temporary name and moves it into place.
func replace(dir *os.Root, name string, build func(temp string) error) error {
	temp := tempName(name)
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

func (w *writer) writeFile(dir *os.Root, name string, content []byte, f File) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil && !w.many {
		err = file.Sync()
	}
	return errors.Join(err, setAttrsOf(file, f.Attrs), file.Chmod(f.Mode&kept), file.Close())
}

// writeInPlace writes front to back and then cuts, so that what a crash leaves can
// be told from anything that another program wrote: see torn.
func writeInPlace(dir *os.Root, name string, content []byte, f File) error {
	file, err := dir.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Truncate(int64(len(content)))
	}
	return errors.Join(err, file.Sync(), setAttrsOf(file, f.Attrs), file.Chmod(f.Mode&kept), file.Close())
}

// torn reports whether content is what writing in place leaves when it is cut
// off: the beginning of the new content and the rest of the old one.
func (w *writer) torn(ctx context.Context, s *Step, content []byte) bool {
	if !s.InPlace || s.Had.Digest == "" || s.Want.Digest == "" {
		return false
	}
	old, err := w.blobs.Get(ctx, s.Had.Digest)
	if err != nil {
		return false
	}
	next, err := w.blobs.Get(ctx, s.Want.Digest)
	if err != nil {
		return false
	}
	n := 0
	for n < len(content) && n < len(next) && content[n] == next[n] {
		n++
	}
	if n >= len(old) {
		return n == len(content)
	}
	return string(content[n:]) == string(old[n:])
}
