package stdio

import (
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/world/shellrun"
)

// ErrClosed is the cause of an end by Close.
var ErrClosed = errors.New("the connection was closed")

// An ExitError is the end of a server process.
type ExitError struct {
	Status shellrun.Status
	Stderr []string
}

func (e *ExitError) Error() string {
	how := fmt.Sprintf("exit status %d", e.Status.Code)
	switch {
	case e.Status.Err != nil:
		how = e.Status.Err.Error()
	case e.Status.Signal != 0:
		how = fmt.Sprintf("killed by signal %d", e.Status.Signal)
	}
	return "the server exited (" + how + ")" + words(e.Stderr)
}

// A ClosedError is a server that lives but closed one of its ends.
type ClosedError struct {
	What   string // input or output
	Stderr []string
}

func (e *ClosedError) Error() string {
	return "the server closed its " + e.What + words(e.Stderr)
}

func words(stderr []string) string {
	if len(stderr) == 0 {
		return " without writing anything to standard error"
	}
	return ": " + Excerpt(stderr)
}
