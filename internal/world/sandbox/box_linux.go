package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// BoxOptions describe a box.
type BoxOptions struct {
	Shape
	// Stage is an empty directory in which the box prepares what it mounts elsewhere.
	Stage string
}

// A Box holds confined commands. Its methods are for the process that leads it.
type Box struct {
	opts     BoxOptions
	abi      int  // of Landlock
	root     bool // commands run as root, whose id means something to the kernel
	layers   int  // how many throw-away layers were made
	listener *os.File
	listings int // tells when a command lists the processes; negative where it sees all
}

// ProxyPort is where commands find the proxy, on 127.0.0.1 in the box.
const ProxyPort = 3128

// NewBox makes this process, which was started with [Shape.Attr] and mapped with
// [MapIDs], the leader of a box. Its mounts are invisible outside.
func NewBox(o BoxOptions) (*Box, error) {
	b := &Box{opts: o, abi: landlockABI(), root: os.Geteuid() == 0, listings: -1}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, stepError(StepMount, "/", err)
	}
	if !o.HostProcesses && !o.Thin {
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return nil, stepError(StepProc, "", err)
		}
	}
	if err := b.fillStage(); err != nil {
		return nil, err
	}
	if !o.HostProcesses && !o.Thin {
		if err := b.watchListings(); err != nil {
			return nil, err
		}
	}
	if !o.HostNetwork && !o.Thin {
		if err := b.openNetwork(); err != nil {
			return nil, err
		}
	}
	// No command may create namespaces in which it would have all rights. The
	// system call filter cannot recognise every way to ask for one.
	_ = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	return b, nil
}

// Listener is the proxy's socket; nil in a box that uses the machine's network.
// It belongs to the network of the box, whichever process accepts on it.
func (b *Box) Listener() *os.File { return b.listener }

// Listings is a descriptor of inotify that tells when a command has listed the processes, of which
// it saw only those of the box; negative if it sees all.
func (b *Box) Listings() int { return b.listings }

// HasLandlock reports whether commands with different Specs are kept apart.
func (b *Box) HasLandlock() bool { return b.abi > 0 }

// Gaps lists what this box lacks.
func (b *Box) Gaps() []string {
	var gaps []string
	if b.opts.Thin {
		return nil
	}
	if b.opts.HostProcesses && b.abi < scopesABI {
		gaps = append(gaps, "commands see the processes outside the sandbox", "commands can send signals to processes outside the sandbox")
	}
	if b.abi == 0 {
		gaps = append(gaps, "the kernel has no Landlock, so read-only commands cannot reach servers that other commands start on localhost")
	} else if b.abi < scopesABI {
		gaps = append(gaps, "the kernel has no Landlock scopes, so commands can send signals to other commands in the sandbox")
	}
	return gaps
}

// Close releases the stage.
func (b *Box) Close() {
	_ = unix.Unmount(b.opts.Stage, unix.MNT_DETACH)
	_ = os.Remove(b.opts.Stage)
}

// staged says where on the stage the private directories of a box are.
var staged = map[string]string{"/tmp": "tmp", "/var/tmp": "vartmp", "/dev": "dev", "/dev/shm": "shm", "/run": "run"}

// devices are what programs expect to find in /dev. If root in the box is also root
// outside, it could open any other.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// fillStage prepares what rooms mount: empty directories in memory, which all rooms
// of the box share, and a /dev.
func (b *Box) fillStage() error {
	stage := b.opts.Stage
	if err := unix.Mount("tmpfs", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=25%"); err != nil {
		return stepError(StepMount, stage, err)
	}
	dirs := map[string]os.FileMode{"tmp": 0o777 | os.ModeSticky, "vartmp": 0o777 | os.ModeSticky, "shm": 0o777 | os.ModeSticky,
		"run": 0o755, "dev": 0o755, "dev/pts": 0o755, "dev/shm": 0o755, "emptydir": 0o755, "closeddir": 0, "layers": 0o755, "proc": 0o555}
	for _, name := range []string{"tmp", "vartmp", "shm", "run", "dev", "dev/pts", "dev/shm", "emptydir", "closeddir", "layers", "proc"} {
		path := filepath.Join(stage, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			return stepError(StepMount, path, err)
		}
		if err := os.Chmod(path, dirs[name]); err != nil {
			return stepError(StepMount, path, err)
		}
	}
	if err := os.WriteFile(filepath.Join(stage, "empty"), nil, 0o444); err != nil {
		return stepError(StepMount, stage, err)
	}
	if err := os.WriteFile(filepath.Join(stage, "closed"), nil, 0); err != nil {
		return stepError(StepMount, stage, err)
	}
	b.copyLinks("/run", filepath.Join(stage, "run"))
	return b.fillDev(filepath.Join(stage, "dev"))
}

// watchListings gives commands a /proc of their own, so that nobody else's looks are seen.
func (b *Box) watchListings() error {
	proc := filepath.Join(b.opts.Stage, "proc")
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return stepError(StepProc, "", err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, proc, unix.IN_ACCESS|unix.IN_ONLYDIR)
	}
	if err != nil {
		return stepError(StepProc, "", err)
	}
	b.listings = fd
	return nil
}

// copyLinks copies the symbolic links of a directory: NixOS, for example, finds all its
// programs through links in /run.
func (b *Box) copyLinks(from, to string) {
	entries, _ := os.ReadDir(from)
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(from, e.Name())); err == nil {
			_ = os.Symlink(target, filepath.Join(to, e.Name()))
		}
	}
}

func (b *Box) fillDev(dev string) error {
	for _, name := range devices {
		path := filepath.Join(dev, name)
		if _, err := os.Stat("/dev/" + name); err != nil {
			continue
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return stepError(StepMount, path, err)
		}
		if err := unix.Mount("/dev/"+name, path, "", unix.MS_BIND, ""); err != nil {
			return stepError(StepMount, path, err)
		}
	}
	// Few programs need a pseudo-terminal: if the kernel refuses one, the box works without.
	_ = unix.Mount("devpts", filepath.Join(dev, "pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return stepError(StepMount, dev, err)
		}
	}
	return nil
}

// openNetwork brings up the only interface there is, and the socket of the
// proxy, and checks that it can be reached.
func (b *Box) openNetwork() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return stepError(stepLoopback, "", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return stepError(stepLoopback, "", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return stepError(stepLoopback, "", err)
	}
	// In a network of its own no program is in the way of low ports.
	_ = os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ProxyPort))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return stepError(StepProxy, address, err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return stepError(StepProxy, address, err)
	}
	conn.Close()
	if b.listener, err = listener.(*net.TCPListener).File(); err != nil {
		return stepError(StepProxy, address, err)
	}
	return nil
}

// confine takes away from the calling thread what the mounts leave it: access to
// paths, system calls, capabilities.
func (b *Box) confine(s *Spec, watch func(*Watcher)) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return stepError(stepCaps, "", err)
	}
	if b.abi > 0 {
		if err := b.restrictPaths(s); err != nil {
			return stepError(StepLandlock, "", err)
		}
	}
	if err := dropCaps(); err != nil {
		return stepError(stepCaps, "", err)
	}
	if s.Thin { // without capabilities the mounts stay
		return nil
	}
	calls := filter{noUnix: s.NoSockets}
	if watch != nil && s.Network != Open {
		calls.watch, calls.writes = true, len(s.Write) > 0
		if listener, err := listenCalls(calls); err == nil {
			watch(&Watcher{listener, s})
			return nil
		}
		calls.watch, calls.writes = false, false // another program watches already
	}
	return stepError(stepSeccomp, "", restrictCalls(calls))
}

// listenCalls puts the calling thread under the filter, and returns the descriptor that reports
// the watched calls.
func listenCalls(f filter) (int, error) {
	// A command that waits for an answer is not disturbed by the signals of its own runtime.
	listener, err := f.install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if err == unix.EINVAL { // before Linux 5.19
		listener, err = f.install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	return listener, err
}

// restrictPaths is the second wall, in case a mount is not what it should be.
func (b *Box) restrictPaths(s *Spec) error {
	rules, err := newRuleset(b.abi, false, !s.Thin && (s.KeepSignals || b.opts.HostProcesses))
	if err != nil {
		return err
	}
	if s.Thin { // it only keeps commands from looking through the eyes of those of other Specs
		if err := rules.allow("/", allRights); err != nil {
			unix.Close(rules.fd)
			return err
		}
		return rules.restrict()
	}
	err = errors.Join(rules.allow("/", readRights), rules.allow("/dev", fileRights|readRights), rules.allow("/proc", fileRights|readRights))
	private := slices.DeleteFunc([]string{"/tmp", "/var/tmp", "/dev/shm"}, func(dir string) bool { return slices.Contains(s.Read, dir) })
	for _, dir := range slices.Concat(private, s.Scratch, s.Write) {
		err = errors.Join(err, rules.allow(dir, allRights))
	}
	for _, l := range s.Layers {
		err = errors.Join(err, rules.allow(l.Dir, allRights))
	}
	if err != nil {
		unix.Close(rules.fd)
		return err
	}
	return rules.restrict()
}

// Enter confines the calling thread, and every process that it starts, to the Spec.
// The goroutine must be locked to its thread, which must not be the main thread of the
// process, and must end while locked: confinement cannot be undone. Watch, if not nil, gets
// what sees the calls of the commands.
func (b *Box) Enter(s *Spec, watch func(*Watcher)) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return stepError(stepRoom, "", err)
	}
	r := &room{box: b, spec: s, open: s.Thin || slices.Contains(s.Write, "/")}
	defer r.close()
	if err := r.collect(); err != nil {
		return err
	}
	if err := r.mount(); err != nil {
		return err
	}
	return b.confine(s, watch)
}
