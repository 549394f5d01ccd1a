package rawfs

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"unsafe"
)

// File is an open file or directory.
type File struct{ fd int }

// terminated gives path as the kernel wants it.
func terminated(path string) []byte {
	b := make([]byte, len(path)+1)
	copy(b, path)
	return b
}

func openAt(path *byte, flags int) (File, error) {
	for {
		fd, _, e := syscall.Syscall6(syscall.SYS_OPENAT, ^uintptr(99), // AT_FDCWD
			uintptr(unsafe.Pointer(path)), uintptr(flags|syscall.O_CLOEXEC), 0, 0, 0)
		if e == 0 {
			return File{int(fd)}, nil
		}
		if e != syscall.EINTR {
			return File{-1}, e
		}
	}
}

// Open opens a file for reading. path is followed by a NUL byte, so that callers
// can build paths in a buffer of their own. It never waits on a FIFO.
func Open(path []byte, follow bool) (File, error) {
	if len(path) == 0 || path[len(path)-1] != 0 {
		return File{-1}, syscall.EINVAL
	}
	flags := syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
	if !follow {
		flags |= syscall.O_NOFOLLOW
	}
	return openAt(&path[0], flags)
}

// OpenDir opens a directory for listing.
func OpenDir(path string) (File, error) {
	return openAt(&terminated(path)[0], syscall.O_RDONLY|syscall.O_DIRECTORY)
}

// Close closes f.
func (f File) Close() { syscall.Close(f.fd) }

// Read reads up to len(b) bytes; 0 is the end.
func (f File) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		n, _, e := syscall.Syscall(syscall.SYS_READ, uintptr(f.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if e == 0 {
			return int(n), nil
		}
		if e != syscall.EINTR {
			return 0, e
		}
	}
}

// Rewind makes the next Read start at the beginning.
func (f File) Rewind() error {
	_, err := syscall.Seek(f.fd, 0, 0)
	return err
}

// Stat describes the open file.
func (f File) Stat() (Stat, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(f.fd, &st); err != nil {
		return Stat{}, err
	}
	return fromSys(&st), nil
}

// Lstat describes the file at path.
func Lstat(path string) (Stat, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return Stat{}, err
	}
	return fromSys(&st), nil
}

// StatPath describes what path leads to.
func StatPath(path string) (Stat, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return Stat{}, err
	}
	return fromSys(&st), nil
}

func fromSys(st *syscall.Stat_t) Stat {
	s := Stat{
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Size: st.Size,
		Ino: st.Ino, Dev: uint64(st.Dev), Links: uint64(st.Nlink),
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		s.Kind = Regular
	case syscall.S_IFDIR:
		s.Kind = Directory
	case syscall.S_IFLNK:
		s.Kind = Symlink
	}
	return s
}

// Entry is one entry of a directory. Its name is valid until the visit returns.
type Entry struct {
	Kind Kind
	Name []byte
	dir  File
}

// Stat describes the entry itself, not what it links to.
func (e *Entry) Stat() (Stat, error) { return e.dir.StatEntry(e.Name) } // the kernel ended the name with a NUL

// StatEntry describes an entry of the open directory f, not what it links to. A NUL byte
// follows the name in memory.
func (f File) StatEntry(name []byte) (Stat, error) {
	var st syscall.Stat_t
	const noFollow = 0x100
	_, _, errno := syscall.Syscall6(sysFstatat, uintptr(f.fd), uintptr(unsafe.Pointer(&name[0])),
		uintptr(unsafe.Pointer(&st)), noFollow, 0, 0)
	if errno != 0 {
		return Stat{}, errno
	}
	return fromSys(&st), nil
}

// List calls visit for every entry of the open directory f but . and .., in no
// order. buf is working space.
func (f File) List(buf []byte, visit func(*Entry)) error {
	e := Entry{dir: f}
	for {
		n, err := syscall.Getdents(f.fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > 0; {
			// struct linux_dirent64: inode, offset, length of the record, type, name.
			length, kind := binary.NativeEndian.Uint16(rest[16:]), rest[18]
			name := rest[19:length]
			rest = rest[length:]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if string(name) == "." || string(name) == ".." {
				continue
			}
			e.Name, e.Kind = name, kindOf(kind)
			if kind == syscall.DT_UNKNOWN {
				if st, err := e.Stat(); err == nil {
					e.Kind = st.Kind
				}
			}
			visit(&e)
		}
	}
}

func kindOf(t uint8) Kind {
	switch t {
	case syscall.DT_REG:
		return Regular
	case syscall.DT_DIR:
		return Directory
	case syscall.DT_LNK:
		return Symlink
	}
	return Other
}

// Magic numbers of statfs(2) for file systems whose changes all pass through this
// kernel, and whose short reads mean the end of the file.
var localMagic = map[int64]bool{
	0xEF53: true, 0x58465342: true, 0x9123683E: true, 0x01021994: true, 0x858458F6: true,
	0xF2F52010: true, 0x2FC12FC1: true, 0xCA451A4E: true,
}

// Local reports whether the directory lies on a local disk or in memory (ext4,
// XFS, Btrfs, tmpfs, F2FS, ZFS, bcachefs), as opposed to a network, FUSE, overlay
// or synthetic file system.
func Local(path string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && localMagic[int64(st.Type)&0xFFFFFFFF]
}
