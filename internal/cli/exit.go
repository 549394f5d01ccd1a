package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/haftdev/haft/sched"
)

// Exit codes. The table in docs/cli.md is the same.
const (
	exitOK        = 0
	exitFailed    = 1   // the work was tried and did not succeed
	exitUsage     = 2   // the command line or the input is wrong; nothing was tried
	exitDenied    = 3   // permission was denied; nothing was tried
	exitCancelled = 130 // stopped by a signal

	exitTerminated = 143 // a conversation that was told to end
)

// usageError is a mistake in the command line.
type usageError struct{ error }

// outcomeError carries the exit code of a call whose result was already shown.
type outcomeError struct{ status sched.Status }

func (e outcomeError) Error() string { return "the call " + e.status.String() }

var outcomeCodes = map[sched.Status]int{
	sched.Succeeded: exitOK,
	sched.Failed:    exitFailed,
	sched.Unknown:   exitUsage,
	sched.Invalid:   exitUsage,
	sched.Denied:    exitDenied,
	sched.Cancelled: exitCancelled,
}

// exitCode tells what went wrong, unless that was done, and chooses the code.
func exitCode(err error, w io.Writer) int {
	var outcome outcomeError
	if errors.As(err, &outcome) {
		return outcomeCodes[outcome.status]
	}
	var code codeError
	if errors.As(err, &code) {
		return int(code)
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(w, "haft: %s\n", harmless(err.Error()))
	var usage usageError
	var misuse *project.UsageError
	switch {
	case errors.As(err, &usage), errors.As(err, &misuse):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitCancelled
	}
	return exitFailed
}
