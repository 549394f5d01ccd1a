package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// commandCaps are the capabilities that root's commands keep: those needed to work with
// other users' files, and none that reaches outside the box.
var commandCaps = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL,
}

// dropCaps drops the capabilities of the calling thread. They also leave the bounding
// set, from which root would regain them at exec.
func dropCaps() error {
	var keep [2]uint32
	if os.Geteuid() == 0 {
		for _, c := range commandCaps {
			keep[c/32] |= 1 << (c % 32)
		}
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keep[c/32]&(1<<(c%32)) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL { // a capability that this kernel does not know
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: keep[0], Permitted: keep[0]}, {Effective: keep[1], Permitted: keep[1]}}
	return unix.Capset(&header, &data[0])
}
