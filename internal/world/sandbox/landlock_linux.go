package sandbox

import (
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// Rights that Landlock knows, by what they are for.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	listRights = unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // the rights that a file can be given
	allRights = 1<<16 - 1
)

// landlockABI is the version of Landlock in this kernel; 0 means none.
func landlockABI() int {
	abi, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// ScopesSignals reports whether this kernel keeps commands from signalling the processes that
// they see, so that they need no process namespace (Linux 6.12).
func ScopesSignals() bool { return landlockABI() >= scopesABI }

const scopesABI = 6

// A ruleset collects what the calling thread keeps.
type ruleset struct {
	fd      int
	handled uint64
}

// rulesetAttr is struct landlock_ruleset_attr.
type rulesetAttr struct{ fs, net, scoped uint64 }

func newRuleset(abi int, tcp, keepSignals bool) (*ruleset, error) {
	attr := rulesetAttr{fs: allRights}
	switch { // what each version added
	case abi < 2:
		attr.fs = 1<<13 - 1
	case abi < 3:
		attr.fs = 1<<14 - 1
	case abi < 5:
		attr.fs = 1<<15 - 1
	}
	size := unsafe.Sizeof(attr)
	switch {
	case abi < 4:
		size = 8
	case abi < scopesABI:
		size = 16
	}
	if tcp && abi >= 4 {
		attr.net = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if keepSignals && abi >= scopesABI {
		attr.scoped = unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, errno
	}
	return &ruleset{fd: int(fd), handled: attr.fs}, nil
}

// allow gives rights on a path and what is below it. One that does not exist is
// left out.
func (r *ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err == unix.ENOENT || err == unix.EACCES { // no rights on what cannot be reached anyway
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return nil // rights are looked up where a link points
	default:
		rights &= fileRights
	}
	rule := struct {
		rights uint64
		fd     int32
	}{rights & r.handled, int32(fd)}
	if rule.rights == 0 {
		return nil
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return &os.PathError{Op: "allow", Path: path, Err: errno}
	}
	return nil
}

const ruleNetPort = 2 // LANDLOCK_RULE_NET_PORT

func (r *ruleset) allowConnect(port int) error {
	rule := struct{ rights, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// allowReading gives the right to read everything but what is hidden. Landlock
// cannot take away below what it gave, so the siblings of each hidden path are
// given one by one.
func (r *ruleset) allowReading(dir string, hidden []string) error {
	var below []string
	for _, path := range hidden {
		if path == dir {
			return nil
		}
		if pathin.Contains(dir, path) {
			below = append(below, path)
		}
	}
	if len(below) == 0 {
		return r.allow(dir, readRights)
	}
	if err := r.allow(dir, listRights); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil { // what cannot be listed is not given
		return nil
	}
	for _, e := range entries {
		if err := r.allowReading(filepath.Join(dir, e.Name()), below); err != nil {
			return err
		}
	}
	return nil
}

// restrict puts the calling thread, and what it starts, under the rules.
func (r *ruleset) restrict() error {
	defer unix.Close(r.fd)
	_, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
