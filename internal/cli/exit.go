package cli

import (
	"github.com/haftdev/haft/sched"
)

// Exit codes. The table in docs/cli.md is the same.
const (
	exitOK          = 0
	exitFailed      = 1   // the work was tried and did not succeed
	exitUsage       = 2   // the command line or the input is wrong; nothing was tried
	exitDenied      = 3   // permission was denied; nothing was tried
	exitQuarantined = 4   // a session of a fleet was put aside
	exitCancelled   = 130 // stopped by a signal

	exitTerminated = 143 // a conversation that was asked to end
)

// usageError is a mistake in the command line.
type usageError struct{ error }

// outcomeError carries the exit code of a call whose result was already shown.
type outcomeError struct{ status sched.Status }

func (e outcomeError) Error() string { return "the call " + e.status.String() }
