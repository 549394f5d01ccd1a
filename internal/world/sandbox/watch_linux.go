package sandbox

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A notification is struct seccomp_notif.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	call  struct {
		number      int32
		arch        uint32
		instruction uint64
		args        [6]uint64
	}
}

// An answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// A Watcher sees what commands of a room try to do.
type Watcher struct {
	listener int
	spec     *Spec
}

// Watch reports what the commands under a filter try to reach, until the last of them has
// ended. Saw is called while the command waits. What is enforced is up to the box: that memory
// changes after it was read here only blurs a report. If saw returns true for a signal, it is sent
// from here, for a command that the kernel would keep from it.
func (w *Watcher) Watch(saw func(pid int, a Attempt) (send bool)) {
	listener := w.listener
	defer unix.Close(listener)
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && err != unix.EINTR {
			return
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents != 0 { // nobody is left
				return
			}
			continue
		}
		n := new(notification)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(n))); errno != 0 {
			continue // it was killed meanwhile
		}
		reply, done := n.replaceSettings(w.spec)
		if !done {
			reply = n.handle(w.spec, saw)
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&reply)))
	}
}

// handle decides how the call goes on.
func (n *notification) handle(s *Spec, saw func(pid int, a Attempt) bool) answer {
	goOn := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	a, ok := n.attempt(s)
	if !ok {
		return goOn
	}
	if a.Process == 0 {
		saw(int(n.pid), a)
		return goOn
	}
	process, err := unix.PidfdOpen(a.Process, 0) // before it is looked at: its number may become another's
	if err == nil {
		defer unix.Close(process)
	}
	if !saw(int(n.pid), a) || err != nil {
		return goOn
	}
	signal := unix.Signal(n.call.args[1])
	if to := int(int32(n.call.args[0])); uintptr(n.call.number) == unix.SYS_KILL && to < 0 { // a group lies in the session of its command
		err = unix.Kill(to, signal)
	} else {
		err = unix.PidfdSendSignal(process, signal, nil, 0)
	}
	errno, _ := err.(unix.Errno)
	return answer{id: n.id, err: -int32(errno)}
}

// attempt says what a call is about, if that is outside the box.
func (n *notification) attempt(s *Spec) (Attempt, bool) {
	args := &n.call.args
	switch uintptr(n.call.number) {
	case unix.SYS_SOCKET: // the filter tells only of those that list others
		return Attempt{Sockets: true}, true
	case unix.SYS_CONNECT:
		a, ok := n.connection(args[1], args[2])
		return a, ok && (a.Socket == "" || s.closesSocket(a.Socket))
	case unix.SYS_BIND:
		a, ok := n.address(args[1], args[2])
		a.Bind = true
		return a, ok && a.Socket == "" && a.Port != 0
	case unix.SYS_SENDTO:
		return n.connection(args[4], args[5])
	case unix.SYS_KILL:
		return signalled(int(int32(args[0])))
	case unix.SYS_PIDFD_SEND_SIGNAL:
		return signalled(n.processOf(int(int32(args[0]))))
	}
	return n.write(s)
}

// connection is about an address that is outside the box.
func (n *notification) connection(at, size uint64) (Attempt, bool) {
	a, ok := n.address(at, size)
	if !ok || a.Socket == "" && (a.Port == 0 || a.Local() && Listens(a.Port) || a.Host == "0.0.0.0" || a.Host == "::") {
		return Attempt{}, false
	}
	return a, true
}

// address reads an address of a command.
func (n *notification) address(at, size uint64) (Attempt, bool) {
	raw := make([]byte, min(size, 128))
	if len(raw) < 4 {
		return Attempt{}, false
	}
	local := []unix.Iovec{{Base: &raw[0]}}
	local[0].SetLen(len(raw))
	remote := []unix.RemoteIovec{{Base: uintptr(at), Len: len(raw)}}
	if got, err := unix.ProcessVMReadv(int(n.pid), local, remote, 0); err != nil || got != len(raw) {
		return Attempt{}, false
	}
	a := Attempt{Port: int(binary.BigEndian.Uint16(raw[2:]))}
	switch family := binary.NativeEndian.Uint16(raw); {
	case family == unix.AF_INET && len(raw) >= 8:
		a.Host = netip.AddrFrom4([4]byte(raw[4:8])).String()
	case family == unix.AF_INET6 && len(raw) >= 24:
		a.Host = netip.AddrFrom16([16]byte(raw[8:24])).Unmap().String()
	case family == unix.AF_UNIX && raw[2] == 0 && size > 3: // it has a name, but is no file
		return Attempt{Socket: "@" + string(raw[3:])}, true
	case family == unix.AF_UNIX && raw[2] == '/':
		path, _, _ := bytes.Cut(raw[2:], []byte{0})
		return Attempt{Socket: string(path)}, true
	default:
		return Attempt{}, false
	}
	return a, true
}

// signalled is for a signal to a process, or to a group if the number is negative.
func signalled(pid int) (Attempt, bool) {
	if pid < 0 {
		pid = -pid
	}
	if pid <= 1 {
		return Attempt{}, false
	}
	name, err := os.ReadFile(procFile(pid, "comm"))
	if err != nil && pid <= lastProcess() { // one of the box that has ended
		return Attempt{}, false
	}
	return Attempt{Process: pid, Name: strings.TrimSpace(string(name))}, true
}

// lastProcess is the number of the newest process of the box. A command that has a higher one has
// it from outside.
func lastProcess() int {
	load, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(load)); err == nil && len(fields) > 0 {
		if pid, err := strconv.Atoi(fields[len(fields)-1]); err == nil {
			return pid
		}
	}
	return math.MaxInt
}

// processOf returns the process that a descriptor of a command stands for; 0 if none.
func (n *notification) processOf(fd int) int {
	info, err := os.ReadFile(procFile(int(n.pid), "fdinfo/"+strconv.Itoa(fd)))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(info), "\nPid:")
	line, _, _ := strings.Cut(rest, "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	return pid
}

// Listens reports whether a program in the network of this process accepts connections to a
// port, or packets.
func Listens(port int) bool {
	want := ":" + strings.ToUpper(strconv.FormatInt(0x10000+int64(port), 16)[1:])
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		f, err := os.Open("/proc/thread-self/net/" + table)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 3 && strings.HasSuffix(fields[1], want) && (fields[3] == "0A" || table[0] == 'u') {
				f.Close()
				return true
			}
		}
		f.Close()
	}
	return false
}
