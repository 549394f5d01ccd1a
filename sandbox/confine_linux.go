package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// confine takes away from the calling thread what the mounts leave it: access to
// paths, system calls, capabilities.
func (b *Box) confine(s *Spec, watch func(listener int)) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return stepError(StepCaps, "", err)
	}
	if b.abi > 0 {
		if err := b.restrictPaths(s); err != nil {
			return stepError(StepLandlock, "", err)
		}
	}
	if err := dropCaps(); err != nil {
		return stepError(StepCaps, "", err)
	}
	if s.Thin { // without capabilities the mounts stay
		return nil
	}
	calls := filter{noUnix: s.NoSockets}
	if watch != nil && s.Network != Open {
		calls.watch = true
		if listener, err := listenCalls(calls); err == nil {
			watch(listener)
			return nil
		}
		calls.watch = false // another program watches already
	}
	return stepError(StepSeccomp, "", restrictCalls(calls))
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
		return &StepError{Step: StepLayer, Path: s.Layers[0].Dir, Text: "there is no private file system to mount it in"}
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
		return stepError(StepCaps, "", err)
	}
	if root {
		if err := dropCaps(); err != nil {
			unix.Close(rules.fd)
			return stepError(StepCaps, "", err)
		}
	}
	if err := rules.restrict(); err != nil {
		return stepError(StepLandlock, "", err)
	}
	return stepError(StepSeccomp, "", restrictCalls(landlockFilter(s, abi, port)))
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
