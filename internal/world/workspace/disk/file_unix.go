//go:build unix

package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// osFile keeps the descriptor at hand: asking os.File for it would make it blocking again.
type osFile struct {
	*os.File
	fd int
}

// Read does not wait for what is not there: some files of /proc are endless streams that pass for regular files.
func (f *osFile) Read(b []byte) (n int, err error) {
	err = ignoringEINTR(func() error { n, err = unix.Read(f.fd, b); return err })
	switch {
	case err != nil:
		return 0, &fs.PathError{Op: "read", Path: f.Name(), Err: err}
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func (f *osFile) Stat() (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return Info{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return infoOf(&st), nil
}

func (f *osFile) Lock() (bool, error) {
	err := unix.Flock(f.fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func infoOf(st *unix.Stat_t) Info {
	return Info{
		Mode:    modeOf(uint32(st.Mode)),
		Size:    st.Size,
		ModTime: time.Unix(st.Mtim.Unix()),
		Dev:     uint64(st.Dev),
		Ino:     uint64(st.Ino),
		Links:   uint64(st.Nlink),
		UID:     int(st.Uid),
		GID:     int(st.Gid),
	}
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & syscall.S_IFMT {
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	case syscall.S_IFREG:
	default:
		mode |= fs.ModeIrregular
	}
	for bit, flag := range map[uint32]fs.FileMode{syscall.S_ISUID: fs.ModeSetuid, syscall.S_ISGID: fs.ModeSetgid, syscall.S_ISVTX: fs.ModeSticky} {
		if m&bit != 0 {
			mode |= flag
		}
	}
	return mode
}
