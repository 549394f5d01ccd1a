package atomic

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/haftdev/haft/internal/workspace/disk"
)

// tempPrefix begins the name of every temporary file. People who find one should know whose it is.
const tempPrefix = ".haft-tmp-"

// errKeep says that a new file could not be given what the old one has.
var errKeep = errors.New("cannot preserve the file's owner or attributes")

// replace writes a temporary file beside the target and renames it.
func (w *Writer) replace(ctx context.Context, dir disk.Dir, name string, f File) (disk.Info, error) {
	temp := tempPrefix + id()
	e, err := w.begin(record{Kind: kindReplace, Dir: filepath.Dir(f.Path), Name: name, Temp: temp})
	if err != nil {
		return disk.Info{}, &journalError{err}
	}
	defer e.end()
	info, err := w.fill(dir, name, temp, f)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = swap(dir, name, temp, f.Old)
	}
	if err != nil {
		_ = dir.Remove(temp)
		return disk.Info{}, err
	}
	_ = dir.Sync() // if it fails, a power cut may bring the old content back, whole
	return info, nil
}

// begin makes a record and locks it. It is content-free until it is locked, so that a recovery which finds it in between
// takes it for nothing.
func (w *Writer) begin(r record) (*entry, error) {
	e, err := w.open()
	if err != nil {
		return nil, err
	}
	return e, e.write(r)
}

// fill writes and syncs the temporary file.
func (w *Writer) fill(dir disk.Dir, name, temp string, f File) (disk.Info, error) {
	perm := fs.FileMode(0o600)
	if f.Old == nil {
		if perm = f.Mode; perm == 0 {
			perm = 0o666
		}
	}
	out, err := dir.Open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return disk.Info{}, err
	}
	defer out.Close()
	if _, err := out.Write(f.Data); err != nil {
		return disk.Info{}, err
	}
	if f.Old != nil {
		if err := carryOver(dir, name, *f.Old, out); err != nil {
			return disk.Info{}, err
		}
	}
	if err := out.Sync(); err != nil {
		return disk.Info{}, err
	}
	return out.Stat()
}

// carryOver gives the new file the owner, attributes and mode of the old one. The mode comes last: changing the owner clears
// the setuid bit.
func carryOver(dir disk.Dir, name string, old disk.Info, out disk.File) error {
	now, err := out.Stat()
	if err != nil {
		return err
	}
	if now.UID != old.UID || now.GID != old.GID {
		if err := out.Chown(old.UID, old.GID); err != nil {
			return fmt.Errorf("%w: %w", errKeep, err)
		}
	}
	in, err := dir.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := sameAttributes(in, out); err != nil {
		return err
	}
	return out.Chmod(old.Mode)
}

// sameAttributes gives out the extended attributes of in and no others: a new file may have inherited an access list from its
// directory that lets more people in.
func sameAttributes(in, out disk.File) error {
	want, err := in.Xattrs()
	if err != nil {
		return err
	}
	has, err := out.Xattrs()
	if err != nil {
		return err
	}
	for name := range has {
		if _, ok := want[name]; !ok {
			if err := out.RemoveXattr(name); err != nil && !system(name, err) {
				return fmt.Errorf("%w: %w", errKeep, err)
			}
		}
	}
	for name, value := range want {
		if err := out.SetXattr(name, value); err != nil && !system(name, err) {
			return fmt.Errorf("%w: %w", errKeep, err)
		}
	}
	return nil
}

// system reports whether an attribute could not be changed because the system keeps it itself.
func system(name string, err error) bool {
	return strings.HasPrefix(name, "security.") && errors.Is(err, syscall.EPERM)
}

// swap puts the temporary file in its place. The second look keeps the time in which a foreign write could be lost as short as
// it can be.
func swap(dir disk.Dir, name, temp string, old *disk.Info) error {
	if old == nil {
		err := dir.RenameNew(temp, name)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: it now exists", ErrChanged)
		}
		return err
	}
	if err := unchanged(dir, name, old); err != nil {
		return err
	}
	return dir.Rename(temp, name)
}

func id() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
