package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// EnterLandlock confines the calling thread as far as possible without a box; see
// [TierLandlock]. Commands can connect only to port on 127.0.0.1; 0 means to none.
// Their temporary directory is tmp. The calling goroutine must meet the conditions
// of [Box.Enter].
func EnterLandlock(s *Spec, tmp string, port int) error {
	abi := landlockABI()
	switch {
	case abi == 0:
		return &StepError{Step: StepLandlock, Text: "this kernel has no Landlock, or it is turned off"}
	case len(s.Layers) > 0:
		return &StepError{Step: stepLayer, Path: s.Layers[0].Dir, Text: "there is no private file system to mount it in"}
	case s.Network == Open:
		port = 0
	}
	rules, err := newRuleset(abi, s.Network != Open, true)
	if err != nil {
		return stepError(StepLandlock, "", err)
	}
	var hidden []string
	for _, path := range slices.Concat(s.Hide, s.Deny) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			hidden = append(hidden, real)
		}
	}
	err = rules.allowReading("/", hidden)
	for _, name := range append(slices.Clone(devices), "ptmx", "pts", "shm") {
		err = errors.Join(err, rules.allow("/dev/"+name, allRights))
	}
	for _, dir := range append(slices.Clone(s.Write), tmp) {
		err = errors.Join(err, rules.allow(dir, allRights))
	}
	root := os.Geteuid() == 0
	if !root { // files there that root can write belong to the machine
		err = errors.Join(err, rules.allow("/proc", readRights|unix.LANDLOCK_ACCESS_FS_WRITE_FILE))
	}
	if port != 0 && abi >= 4 {
		err = errors.Join(err, rules.allowConnect(port))
	}
	if err != nil {
		unix.Close(rules.fd)
		return stepError(StepLandlock, "", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return stepError(stepCaps, "", err)
	}
	if root {
		if err := dropCaps(); err != nil {
			unix.Close(rules.fd)
			return stepError(stepCaps, "", err)
		}
	}
	if err := rules.restrict(); err != nil {
		return stepError(StepLandlock, "", err)
	}
	return stepError(stepSeccomp, "", restrictCalls(landlockFilter(s, abi, port)))
}

// landlockFilter refuses the sockets that Landlock cannot.
func landlockFilter(s *Spec, abi, port int) filter {
	if s.Network == Open {
		return filter{noUnix: s.NoSockets}
	}
	if port == 0 || abi < 4 { // no rule about TCP
		return filter{noInet: true, noOther: true, noUnix: s.NoSockets}
	}
	return filter{noDatagram: true, noOther: true, noUnix: s.NoSockets}
}
