package needtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

var probes = map[Thing]probe{
	Namespaces: {"no user namespaces", sync.OnceValue(func() error { return mountInside("-t", "tmpfs", "tmpfs") })},
	Overlay:    {"no overlays in user namespaces", sync.OnceValue(overlay)},
	Landlock:   {"no Landlock", sync.OnceValue(landlock)},
	Cgroups:    {"no cgroup can be made", sync.OnceValue(cgroup)},
	Resolver:   {"localhost has no address", sync.OnceValue(resolve)},
	Tracing:    {"strace is not installed, or may not trace", sync.OnceValue(trace)},
	Checkout:   {"the files are no git checkout", sync.OnceValue(checkout)},
	Root:       {"only root can do this", sync.OnceValue(asRoot)},
	Mounts:     {"mounting is not permitted", sync.OnceValue(mountHere)},
}

// mountInside mounts something in new namespaces: some systems make those, and then let nothing
// be done in them.
func mountInside(args ...string) error {
	// Tests of commands hide their process, and a hidden one cannot write the maps of a child
	// that still shares its memory.
	if hidden, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && hidden != 1 {
		if unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) == nil {
			defer unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		}
	}
	return mount(&syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}, args...)
}

// mountHere mounts where nobody else sees it.
func mountHere() error {
	return mount(&syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, "-t", "tmpfs", "tmpfs")
}

func mount(attr *syscall.SysProcAttr, args ...string) error {
	dir, err := os.MkdirTemp("", "needtest")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	program, err := exec.LookPath("mount")
	if err != nil {
		program = "/usr/bin/mount" // where PATH has less than the machine
	}
	cmd := exec.Command(program, append(args, dir)...)
	cmd.SysProcAttr = attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func overlay() error {
	dir, err := os.MkdirTemp("", "needtest")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	return mountInside("-t", "overlay", "overlay", "-o", strings.ReplaceAll("userxattr,lowerdir=D/lower,upperdir=D/upper,workdir=D/work", "D", dir))
}

func landlock() error {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version); errno != 0 {
		return errno
	}
	return nil
}

func cgroup() error {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data) {
		path, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::"))
		for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			dir := filepath.Join(mount, string(path))
			if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); ok && err == nil {
				own, err := os.MkdirTemp(dir, "needtest")
				if err != nil {
					return err
				}
				return os.Remove(own)
			}
		}
	}
	return errors.New("no cgroup with cgroup.kill")
}

func trace() error { return exec.Command("strace", "-qq", "-o", os.DevNull, "true").Run() }
