package checkpoint

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// changed returns when a file's inode was last changed, and its number.
func changed(info fs.FileInfo) (ctime int64, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return 0, 0
}

// overlayAttrs are the kernel's notes about the files of an overlay.
const overlayAttrs = "user.overlay."

// Attrs returns the extended attributes that users give to a file, in JSON; "" if
// it has none. No link is followed.
func Attrs(path string) string {
	return attrsOf(func(to []byte) (int, error) { return unix.Llistxattr(path, to) },
		func(name string, to []byte) (int, error) { return unix.Lgetxattr(path, name, to) })
}

// AttrsOf is Attrs of an open file.
func AttrsOf(fd int) string {
	return attrsOf(func(to []byte) (int, error) { return unix.Flistxattr(fd, to) },
		func(name string, to []byte) (int, error) { return unix.Fgetxattr(fd, name, to) })
}

func attrsOf(list func([]byte) (int, error), get func(string, []byte) (int, error)) string {
	n, err := list(nil)
	if err != nil || n == 0 {
		return ""
	}
	names := make([]byte, n)
	if n, err = list(names); err != nil {
		return ""
	}
	attrs := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, "user.") || strings.HasPrefix(name, overlayAttrs) {
			continue
		}
		if n, err = get(name, nil); err != nil {
			continue
		}
		value := make([]byte, n)
		if n, err = get(name, value); err == nil {
			attrs[name] = value[:n]
		}
	}
	if len(attrs) == 0 {
		return ""
	}
	raw, err := json.Marshal(attrs)
	if err != nil {
		return ""
	}
	return string(raw)
}

// setAttrsOf gives a file the attributes, and takes others away.
func setAttrsOf(file *os.File, attrs string) error {
	fd := int(file.Fd())
	now := attrsOf(func(to []byte) (int, error) { return unix.Flistxattr(fd, to) },
		func(name string, to []byte) (int, error) { return unix.Fgetxattr(fd, name, to) })
	if now == attrs {
		return nil
	}
	var have, want map[string][]byte
	if now != "" {
		if err := json.Unmarshal([]byte(now), &have); err != nil {
			return err
		}
	}
	if attrs != "" {
		if err := json.Unmarshal([]byte(attrs), &want); err != nil {
			return err
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			if err := unix.Fremovexattr(fd, name); err != nil {
				return err
			}
		}
	}
	for name, value := range want {
		if !strings.HasPrefix(name, "user.") {
			continue // a plan is a file that anybody may have written
		}
		if err := unix.Fsetxattr(fd, name, value, 0); err != nil {
			return err
		}
	}
	return nil
}

// setAttrs does it for a folder.
func setAttrs(dir *os.Root, name, attrs string) error {
	file, err := dir.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		if attrs == "" {
			return nil // a folder that cannot be read
		}
		return err
	}
	defer file.Close()
	return setAttrsOf(file, attrs)
}

func makeFIFO(dir *os.Root, name string, mode fs.FileMode) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Mkfifoat(int(file.Fd()), name, 0o600); err != nil {
		return err
	}
	return dir.Chmod(name, mode&kept)
}

// hasOtherNames reports whether a file can be reached by another name too.
func hasOtherNames(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// syncAll brings a whole file system to the disk.
func syncAll(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return nil // the folder was one of those that went
	}
	defer file.Close()
	return unix.Syncfs(int(file.Fd()))
}

// swap exchanges two files.
func swap(dir *os.Root, a, b string) error { return rename2(dir, a, b, unix.RENAME_EXCHANGE) }

// moveToFree renames a file to a name that is not taken.
func moveToFree(dir *os.Root, from, to string) error {
	err := rename2(dir, from, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, errors.ErrUnsupported) {
		return dir.Rename(from, to)
	}
	return err
}

func rename2(dir *os.Root, from, to string, flags uint) error {
	folder, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	fd := int(folder.Fd())
	err = unix.Renameat2(fd, from, fd, to, flags)
	if err == unix.EINVAL { // a file system that cannot
		return errors.ErrUnsupported
	}
	return err
}
