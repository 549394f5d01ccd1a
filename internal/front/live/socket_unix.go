//go:build unix

package live

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/config/keep"
)

// supported says that sessions of this system can be watched.
const supported = true

// longestSocket is how long the path of a socket may be everywhere.
const longestSocket = 100

// listen makes a socket that only this user can connect to.
func listen() (net.Listener, string, error) {
	name := fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:12])
	var last error
	for _, dir := range socketDirs() {
		path := filepath.Join(dir, name)
		if len(path) > longestSocket {
			continue
		}
		var l net.Listener
		for range 2 { // another process may remove the folder in between
			if last = private(dir); last != nil {
				break
			}
			sweep(dir)
			if l, last = net.Listen("unix", path); !errors.Is(last, syscall.ENOENT) {
				break
			}
		}
		if last != nil {
			continue
		}
		if err := os.Chmod(path, 0o600); err != nil { // the folder is closed to others until then and after
			l.Close()
			return nil, "", err
		}
		return leaving{l, dir}, path, nil
	}
	return nil, "", fmt.Errorf("make a socket: no folder for it: %w", last)
}

// leaving removes the folder as well when it is closed, unless another process has a socket there: it may be in the
// folder for temporary files, where nothing of haft is to stay.
type leaving struct {
	net.Listener
	dir string
}

func (l leaving) Close() error {
	err := l.Listener.Close()
	_ = os.Remove(l.dir) // fails if something is in it
	return err
}

// sweep removes the sockets of processes that were killed: nobody listens there, and no
// other process ever has their names.
func sweep(dir string) {
	list, _ := os.ReadDir(dir) // what cannot be listed stays
	for _, e := range list {
		number, _, _ := strings.Cut(e.Name(), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || alive(pid) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		// A process of another container may not be seen from here.
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			os.Remove(path)
		}
	}
}

// alive reports whether there is a process.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// socketDirs are where a socket may be, in the order of preference.
func socketDirs() (dirs []string) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		dirs = append(dirs, filepath.Join(dir, "haft"))
	}
	return append(dirs, filepath.Join(keep.State(), "live"), filepath.Join(os.TempDir(), fmt.Sprintf("haft-live-%d", os.Getuid())))
}

// private makes a folder that only this user can enter, or checks that it is one.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder that only this user can access", dir)
	}
	return nil
}

// allowed checks that the other side is a process of this user.
func allowed(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	uid, known := -1, false
	if err := raw.Control(func(fd uintptr) { uid, known, err = peer(int(fd)) }); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("check which user connects: %w", err)
	}
	if known && uid != os.Getuid() {
		return fmt.Errorf("user %d may not watch the sessions of user %d", uid, os.Getuid())
	}
	return nil
}
