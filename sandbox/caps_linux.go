package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// commandCaps are what commands of root keep: what is needed to work with files
// of others, and nothing that reaches beyond the box.
var commandCaps = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL,
}

// dropCaps takes the capabilities of the calling thread away. Root would regain
// them at exec from the bounding set.
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
