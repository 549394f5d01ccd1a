package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// A Kind is how strong the confinement is that this machine gives.
type Kind int

const (
	TierNone     Kind = iota // commands run with all rights of the user
	TierLandlock             // Landlock and seccomp: no writes outside, no network; nothing private, no preview
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

// A Tier is the confinement that was found to work here, and what kept a
// stronger one from working.
type Tier struct {
	Kind Kind
	// Gaps say what the confinement lacks although it works, such as that
	// commands see the processes outside.
	Gaps []string
	// Failures are the attempts at a stronger tier that failed, strongest first.
	Failures []*StepError
}

func (t Tier) String() string {
	text := t.Kind.String()
	for _, f := range t.Failures {
		text += "; " + f.Error()
	}
	return text
}

// Help is the one command or setting that would make the tier stronger; "" if
// none is known.
func (t Tier) Help() string {
	for _, f := range t.Failures {
		if help := f.Help(); help != "" {
			return help
		}
	}
	return ""
}

// The steps of making a box, in their order.
const (
	StepStart    = "start a process in new namespaces"
	StepMap      = "map the user into the new namespace"
	StepMount    = "mount"
	StepProc     = "mount a private /proc"
	StepLoopback = "bring up the loopback interface"
	StepProxy    = "listen for the proxy"
	StepRoom     = "make the file system read-only"
	StepLayer    = "mount an overlay"
	StepLandlock = "restrict the file system with Landlock"
	StepSeccomp  = "restrict system calls with seccomp"
	StepCaps     = "give up capabilities"
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

// reason translates what the kernel says, which for namespaces misleads.
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

// Help says what the user can do about it; "" where nothing is known.
func (e *StepError) Help() string {
	switch {
	case e.Step == StepStart && e.Errno == syscall.ENOSPC:
		return "sudo sysctl -w user.max_user_namespaces=15000"
	case e.Step == StepStart && e.Errno == syscall.EPERM:
		if readSysctl("kernel/unprivileged_userns_clone") == "0" {
			return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
		}
		return "in a container, run it with --security-opt seccomp=unconfined, or rely on the container"
	case restrictedByAppArmor() && (e.Step == StepMount || e.Step == StepMap || e.Step == StepStart):
		return "sudo tee /etc/apparmor.d/haft <<'EOF' && sudo apparmor_parser -r /etc/apparmor.d/haft\n" + AppArmorProfile("/usr/local/bin/haft") + "EOF"
	}
	return ""
}

// AppArmorProfile is the text that grants user namespaces to one program on
// systems (Ubuntu 23.10 and later) that restrict them.
func AppArmorProfile(program string) string {
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

// ErrUnavailable is returned for a command that is to be confined where nothing
// confines it.
var ErrUnavailable = errors.New("no sandbox is available here")

// Unavailable is the error for a tier that is too weak for a command.
func (t Tier) Unavailable() error {
	if len(t.Failures) == 0 {
		return ErrUnavailable
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, t.Failures[0])
}
