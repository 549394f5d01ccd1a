package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// A Kind says how strong the confinement on this machine is.
type Kind int

const (
	TierNone     Kind = iota // commands run with all of the user's rights
	TierLandlock             // Landlock and seccomp: no writes outside, no network, but no private directories and no preview
	TierBox                  // namespaces, Landlock and seccomp
)

func (k Kind) String() string {
	switch k {
	case TierBox:
		return "box"
	case TierLandlock:
		return "landlock"
	}
	return "none"
}

// A Tier is the strongest confinement that works here, and the reasons why stronger
// ones do not.
type Tier struct {
	Kind Kind
	// Gaps lists what the strongest confinement lacks here although it works, for example
	// that commands see the processes outside. docs/sandbox.md says what weaker ones lack.
	Gaps []string
	// Failures are the failed attempts at stronger tiers, strongest first.
	Failures []*StepError
}

func (t Tier) String() string {
	text := t.Kind.String()
	for _, f := range t.Failures {
		text += "; " + f.Error()
	}
	return text
}

// Lost says in one sentence what commands cannot have here and why; "" for the strongest tier. The first
// failure is the reason: each weaker tier was tried because of it.
func (t Tier) Lost() string {
	lost := "Commands can be neither previewed nor confined here"
	switch t.Kind {
	case TierBox:
		return ""
	case TierLandlock:
		lost = "Commands cannot be previewed here"
	}
	if len(t.Failures) == 0 {
		return lost + "."
	}
	why := t.Failures[0].Error()
	if t.Failures[0].Step == StepStart && t.Failures[0].Errno != 0 {
		why = t.Failures[0].reason()
	}
	return lost + ": " + why + "."
}

// help names the command or setting that would make the tier stronger; "" if none is
// known.
func (t Tier) Help() string {
	for _, f := range t.Failures {
		if help := f.help(); help != "" {
			return help
		}
	}
	return ""
}

// The steps of making a box, in order.
const (
	StepStart    = "start a process in new namespaces"
	stepMap      = "map the user into the new namespace"
	StepMount    = "mount"
	StepProc     = "mount a private /proc"
	stepLoopback = "bring up the loopback interface"
	StepProxy    = "listen for the proxy"
	stepRoom     = "make the file system read-only"
	stepLayer    = "mount an overlay"
	StepLandlock = "restrict the file system with Landlock"
	stepSeccomp  = "restrict system calls with seccomp"
	stepCaps     = "give up capabilities"
)

// A StepError says which step of the confinement this machine refused.
type StepError struct {
	Step  string
	Path  string // what it was about, "" for nothing in particular
	Errno syscall.Errno
	Text  string // instead of Errno, where there is none
}

func (e *StepError) Error() string {
	text := "could not " + e.Step
	if e.Path != "" {
		text += " (" + e.Path + ")"
	}
	return text + ": " + e.reason()
}

// reason explains the kernel's error, which is misleading for namespaces.
func (e *StepError) reason() string {
	switch {
	case e.Errno == 0:
		return e.Text
	case e.Step == StepStart && e.Errno == syscall.ENOSPC:
		return "user namespaces are disabled (user.max_user_namespaces)"
	case e.Step == StepStart && e.Errno == syscall.EPERM:
		return "user namespaces are not permitted here"
	}
	return e.Errno.Error()
}

func (e *StepError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// help says what the user can do about it; "" where nothing is known.
func (e *StepError) help() string {
	switch {
	case e.Step == StepStart && e.Errno == syscall.ENOSPC:
		return "sudo sysctl -w user.max_user_namespaces=15000"
	case e.Step == StepStart && e.Errno == syscall.EPERM:
		if readSysctl("kernel/unprivileged_userns_clone") == "0" {
			return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
		}
		return "if haft runs in a container, start the container with --security-opt seccomp=unconfined, or rely on the container for isolation"
	case restrictedByAppArmor() && (e.Step == StepMount || e.Step == stepMap || e.Step == StepStart):
		return "sudo tee /etc/apparmor.d/haft <<'EOF' && sudo apparmor_parser -r /etc/apparmor.d/haft\n" + appArmorProfile("/usr/local/bin/haft") + "EOF"
	}
	return ""
}

// appArmorProfile returns a profile that lets one program create user namespaces on
// systems that restrict them (Ubuntu 23.10 and later).
func appArmorProfile(program string) string {
	return "abi <abi/4.0>,\ninclude <tunables/global>\nprofile haft " + quoteAppArmor(program) + " flags=(unconfined) {\n  userns,\n}\n"
}

func quoteAppArmor(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// stepError wraps the error of a step.
func stepError(step, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *StepError
	if errors.As(err, &known) {
		return err
	}
	e := &StepError{Step: step, Path: path, Text: err.Error()}
	errors.As(err, &e.Errno)
	return e
}

// ErrUnavailable is returned for a command that must be confined when no confinement
// is available.
var ErrUnavailable = errors.New("no sandbox is available here")

// Unavailable returns the error for a tier that is too weak for a command.
func (t Tier) Unavailable() error {
	if len(t.Failures) == 0 {
		return ErrUnavailable
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, t.Failures[0])
}
