//go:build unix && !linux

package disk

import (
	"errors"
	"io/fs"
)

// opener walks: only Linux has openat2.
type opener struct{}

func (opener) openDir(path string) (int, error) { return walkDir(path) }

func renameNew(fd int, from, to string) error { return linkNew(fd, from, to) }

func (f *osFile) Reserve(int64) error                { return nil }
func (f *osFile) Xattrs() (map[string]string, error) { return nil, nil }
func (f *osFile) SetXattr(string, string) error      { return errors.ErrUnsupported }
func (f *osFile) RemoveXattr(string) error           { return errors.ErrUnsupported }

func (*osFS) Space(path string) (uint64, error) {
	return 0, &fs.PathError{Op: "statfs", Path: path, Err: errors.ErrUnsupported}
}
