package disk

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// opener opens directories with openat2 until the kernel, or a filter around us, says it has none.
type opener struct{ walk atomic.Bool }

func (o *opener) openDir(path string) (int, error) {
	if o.walk.Load() {
		return walkDir(path)
	}
	how := &unix.OpenHow{Flags: dirFlags &^ unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, how)
		switch {
		case err == unix.EINTR, err == unix.EAGAIN:
			continue
		case err == unix.ENOSYS, err == unix.EPERM:
			o.walk.Store(true)
			return walkDir(path)
		}
		return fd, err
	}
}

// Direct describes what is at an absolute and clean path, in one look instead of one for each of its parts. It is false if
// a link is on the way, if nothing is there, or if that cannot be told like this.
func (f *osFS) Direct(path string) (Info, bool) {
	if f.walk.Load() {
		return Info{}, false
	}
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, how)
	if err != nil {
		return Info{}, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return Info{}, false
	}
	return infoOf(&st), true
}

// OpenDirect opens a file for reading at an absolute and clean path, in one step instead of by way of its directory. It is
// false if a link is on the way, if the file cannot be opened, or if that cannot be done like this.
func (f *osFS) OpenDirect(path string) (File, bool) {
	if f.walk.Load() {
		return nil, false
	}
	how := &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, how)
	if err != nil {
		return nil, false
	}
	return &osFile{os.NewFile(uintptr(fd), path), fd}, true
}

func renameNew(fd int, from, to string) error {
	err := unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return linkNew(fd, from, to)
	}
	return err
}

func (f *osFile) Reserve(size int64) error {
	if size == 0 {
		return nil
	}
	err := unix.Fallocate(f.fd, unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

func (f *osFile) Xattrs() (map[string]string, error) {
	names, err := xattrBytes(func(b []byte) (int, error) { return unix.Flistxattr(f.fd, b) })
	if err != nil || len(names) == 0 {
		if errors.Is(err, unix.EOPNOTSUPP) {
			err = nil
		}
		return nil, err
	}
	out := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		value, err := xattrBytes(func(b []byte) (int, error) { return unix.Fgetxattr(f.fd, name, b) })
		switch {
		case errors.Is(err, unix.ENODATA), errors.Is(err, unix.EOPNOTSUPP):
		case err != nil:
			return nil, err
		default:
			out[name] = string(value)
		}
	}
	return out, nil
}

func (f *osFile) SetXattr(name, value string) error {
	return unix.Fsetxattr(f.fd, name, []byte(value), 0)
}

func (f *osFile) RemoveXattr(name string) error { return unix.Fremovexattr(f.fd, name) }

// xattrBytes calls get with a buffer that is large enough, though the attribute may grow between two calls.
func xattrBytes(get func([]byte) (int, error)) ([]byte, error) {
	for {
		n, err := get(nil)
		if err != nil || n == 0 {
			return nil, err
		}
		b := make([]byte, n)
		n, err = get(b)
		if errors.Is(err, unix.ERANGE) {
			continue
		}
		return bytes.Clone(b[:max(n, 0)]), err
	}
}

func (*osFS) Space(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
