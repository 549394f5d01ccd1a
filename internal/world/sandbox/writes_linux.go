package sandbox

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/shell/gitconfig"
)

// A pathCall is a system call that changes what is at a path, and where its arguments are;
// negative for one that it does not have.
type pathCall struct {
	number           uintptr
	dir, path, flags int
	does             effect
}

// An effect is what a call does at its path.
type effect int

const (
	opens    effect = iota // a file, which need not be for writing
	makes                  // what is not there
	changes                // what is there
	replaces               // whatever is there
	moves                  // what is there, with all that is in it
)

// pathCalls are the calls that every architecture has. A call with two paths is there twice.
var pathCalls = []pathCall{
	{number: unix.SYS_OPENAT, dir: 0, path: 1, flags: 2, does: opens},
	{number: unix.SYS_MKDIRAT, dir: 0, path: 1, flags: -1, does: makes},
	{number: unix.SYS_UNLINKAT, dir: 0, path: 1, flags: -1, does: changes},
	{number: unix.SYS_RENAMEAT2, dir: 0, path: 1, flags: -1, does: moves},
	{number: unix.SYS_RENAMEAT2, dir: 2, path: 3, flags: -1, does: replaces},
	{number: unix.SYS_LINKAT, dir: 2, path: 3, flags: -1, does: makes},
	{number: unix.SYS_SYMLINKAT, dir: 1, path: 2, flags: -1, does: makes},
	{number: unix.SYS_FCHMODAT, dir: 0, path: 1, flags: -1, does: changes},
	{number: unix.SYS_TRUNCATE, dir: -1, path: 0, flags: -1, does: changes},
}

// olderCalls are those that only this architecture has, by their numbers.
var olderCalls = map[string][]pathCall{"amd64": {
	{number: 2, dir: -1, path: 0, flags: 1, does: opens},      // open
	{number: 85, dir: -1, path: 0, flags: -1, does: replaces}, // creat
	{number: 83, dir: -1, path: 0, flags: -1, does: makes},    // mkdir
	{number: 84, dir: -1, path: 0, flags: -1, does: changes},  // rmdir
	{number: 87, dir: -1, path: 0, flags: -1, does: changes},  // unlink
	{number: 82, dir: -1, path: 0, flags: -1, does: moves},    // rename
	{number: 82, dir: -1, path: 1, flags: -1, does: replaces},
	{number: 264, dir: 0, path: 1, flags: -1, does: moves}, // renameat
	{number: 264, dir: 2, path: 3, flags: -1, does: replaces},
	{number: 86, dir: -1, path: 1, flags: -1, does: makes},   // link
	{number: 88, dir: -1, path: 1, flags: -1, does: makes},   // symlink
	{number: 90, dir: -1, path: 0, flags: -1, does: changes}, // chmod
}}

const writeFlags = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// watchedWrites are the blocks of the filter that have these calls told.
func watchedWrites(tell unix.SockFilter) []unix.SockFilter {
	var code []unix.SockFilter
	done := map[uintptr]bool{}
	for _, c := range append(pathCalls, olderCalls[runtime.GOARCH]...) {
		switch {
		case done[c.number]:
		case c.does == opens:
			code = append(code, onCall(c.number, load(dataArg0+8*uint32(c.flags)), jump(unix.BPF_JSET, writeFlags, 0, 1), tell)...)
		default:
			code = append(code, onCall(c.number, tell)...)
		}
		done[c.number] = true
	}
	return code
}

// write says what a call would change that the Spec keeps from the command; false if nothing.
func (n *notification) write(s *Spec) (Attempt, bool) {
	for _, c := range append(pathCalls, olderCalls[runtime.GOARCH]...) {
		if c.number != uintptr(n.call.number) {
			continue
		}
		if a, ok := n.writeOf(c, s); ok {
			return a, true
		}
	}
	return Attempt{}, false
}

func (n *notification) writeOf(c pathCall, s *Spec) (Attempt, bool) {
	path := n.pathOf(c)
	if path == "" {
		return Attempt{}, false
	}
	dir := filepath.Dir(path)
	info, err := os.Lstat(path)
	if c.does == opens && err == nil && info.Mode()&os.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return Attempt{}, false
		}
		dir = filepath.Dir(path)
	}
	if !s.keeps(path, c.does == moves) {
		return Attempt{}, false
	}
	there, a := err == nil, Attempt{Path: path}
	if c.does != opens {
		return a, (c.does == replaces && !(there && info.IsDir()) || c.does != replaces && there == (c.does != makes)) && unix.Access(dir, unix.W_OK) == nil
	}
	flags := n.call.args[c.flags]
	if !there {
		return a, flags&unix.O_CREAT != 0 && unix.Access(dir, unix.W_OK) == nil
	}
	a.Maybe = flags&unix.O_RDWR != 0 && flags&unix.O_TRUNC == 0 // many read what they may not write
	return a, flags&unix.O_EXCL == 0 && unix.Access(path, unix.W_OK) == nil
}

// pathOf returns the path of a call, in a folder without links; "" if there is no such folder.
func (n *notification) pathOf(c pathCall) string {
	path, dir := n.text(n.call.args[c.path]), ""
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		base := "cwd"
		if c.dir >= 0 && int32(n.call.args[c.dir]) != unix.AT_FDCWD {
			base = "fd/" + strconv.Itoa(int(int32(n.call.args[c.dir])))
		}
		var err error
		if dir, err = os.Readlink(procFile(int(n.pid), base)); err != nil {
			return ""
		}
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	if filepath.Dir(path) == dir {
		return path
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "" // it fails everywhere
	}
	return filepath.Join(dir, filepath.Base(path))
}

// maxSettings bounds the settings of git that are replaced.
const maxSettings = 1 << 20

// replaceSettings does what a command does that moves new settings of git over the old ones, if they
// are harmless: a mount is in its way. The file stays the one that is mounted, and so protected.
func (n *notification) replaceSettings(s *Spec) (answer, bool) {
	if len(s.Settings) == 0 {
		return answer{}, false
	}
	var from, to string
	for _, c := range append(pathCalls, olderCalls[runtime.GOARCH]...) {
		switch {
		case c.number != uintptr(n.call.number):
		case c.does == moves:
			from = n.pathOf(c)
		case c.does == replaces:
			to = n.pathOf(c)
		}
	}
	if from == "" || from != to+".lock" || !slices.Contains(s.Settings, to) {
		return answer{}, false
	}
	after, err := readPlain(from)
	if err != nil {
		return answer{}, false
	}
	before, err := readPlain(to)
	if err != nil || !gitconfig.Harmless(string(before), string(after)) || overwrite(to, before, after) != nil {
		return answer{}, false
	}
	_ = os.Remove(from) // else git says that it is locked
	return answer{id: n.id}, true
}

// readPlain reads a file that is no link.
func readPlain(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, errors.Join(err, unix.EINVAL)
	}
	return io.ReadAll(io.LimitReader(f, maxSettings))
}

// overwrite gives a file another content by one write, so that whoever reads it finds settings
// that are whole: blank lines at the end take the place of what goes.
func overwrite(path string, before, after []byte) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	text := append(slices.Clip(after), bytes.Repeat([]byte("\n"), max(0, len(before)-len(after)))...)
	if got, err := unix.Pwrite(fd, text, 0); err != nil || got != len(text) {
		return errors.Join(err, unix.EIO)
	}
	return unix.Ftruncate(fd, int64(len(after)))
}

// text reads a name of a command; "" if it cannot be read.
func (n *notification) text(at uint64) string {
	var name []byte
	for len(name) < unix.PathMax {
		part := make([]byte, min(512, 4096-at%4096)) // not into a page that may not be there
		local := []unix.Iovec{{Base: &part[0]}}
		local[0].SetLen(len(part))
		got, err := unix.ProcessVMReadv(int(n.pid), local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(part)}}, 0)
		if err != nil || got <= 0 {
			return ""
		}
		if end := bytes.IndexByte(part[:got], 0); end >= 0 {
			return string(append(name, part[:end]...))
		}
		name, at = append(name, part[:got]...), at+uint64(got)
	}
	return ""
}
