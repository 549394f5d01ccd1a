package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Shape says which namespaces a box has. With the zero Shape it has all of them.
type Shape struct {
	HostNetwork   bool // commands use the network of the machine
	HostProcesses bool // commands see the processes of the machine
	Thin          bool // only files are confined: network, processes and all else are the machine's
}

// boxCaps are what the process of the box needs to mount, and as root what it
// leaves to commands.
var boxCaps = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SYS_RESOURCE,
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL,
}

// Attr returns the attributes to start the process of a box with. The process must wait
// for [MapIDs] before it calls [NewBox].
//
// The attributes do not contain the id maps: a program that has made itself undumpable
// cannot write the maps of a child that still shares its memory.
func (s Shape) Attr() *syscall.SysProcAttr {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	if !s.Thin {
		flags |= unix.CLONE_NEWIPC
	}
	if !s.Thin && !s.HostNetwork {
		flags |= unix.CLONE_NEWNET
	}
	if !s.Thin && !s.HostProcesses {
		flags |= unix.CLONE_NEWPID
	}
	return &syscall.SysProcAttr{Setsid: true, Cloneflags: flags, AmbientCaps: boxCaps}
}

// MapIDs maps user and group ids into the started process: all of them for root, their
// own for other users. Each id is mapped to itself, so files show their usual owners.
func MapIDs(pid int) error {
	if os.Geteuid() == 0 && mapAll(pid) == nil {
		return nil
	}
	if err := os.WriteFile(procFile(pid, "setgroups"), []byte("deny"), 0); err != nil && !os.IsNotExist(err) {
		return stepError(stepMap, "", err)
	}
	for file, id := range map[string]int{"uid_map": os.Geteuid(), "gid_map": os.Getegid()} {
		if err := os.WriteFile(procFile(pid, file), fmt.Appendf(nil, "%d %d 1", id, id), 0); err != nil {
			return stepError(stepMap, "", err)
		}
	}
	return nil
}

// mapAll maps every id that this process knows.
func mapAll(pid int) error {
	for _, file := range []string{"gid_map", "uid_map"} {
		lines, err := identityMap("/proc/self/" + file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(procFile(pid, file), []byte(lines), 0); err != nil {
			return err
		}
	}
	return nil
}

// identityMap makes a map of the ids in a map, each to itself.
func identityMap(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 {
			fmt.Fprintf(&b, "%s %s %s\n", fields[0], fields[0], fields[2])
		}
	}
	return b.String(), nil
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
