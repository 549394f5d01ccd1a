package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"github.com/haftdev/haft/internal/sys/regular"
)

// A privateFile is JSON that only the user can read, and that several processes change.
type privateFile[T any] struct{ path string }

// change changes the file, which others may change at the same time.
func (p privateFile[T]) change(do func(*T) error) (err error) {
	lock := flock.New(p.path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	v, err := p.read()
	if err != nil {
		return err
	}
	if err := do(&v); err != nil {
		return err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return savePrivate(p.path, raw)
}

// maxPrivate is how long such a file may be.
const maxPrivate = 1 << 20

// read reads the file, which may not be there yet.
func (p privateFile[T]) read() (v T, err error) {
	raw, err := readPrivate(p.path, maxPrivate)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

// readPrivate reads a file of secrets. One that others can read is not trusted.
func readPrivate(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		return nil, fmt.Errorf("other users can read %s. Run: chmod 600 %s", path, path)
	}
	return regular.Read(path, limit)
}

// savePrivate replaces a file of secrets, all of it or nothing.
func savePrivate(path string, raw []byte) error {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("save %s: %w", path, err)
	}
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	_, err = file.Write(raw)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return os.Rename(temp, path)
}
