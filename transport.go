package haft

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/wire"
)

// A Transport starts conversations. The default one starts the command line as a child
// process. Another can talk to an agent in this process or on another machine, as long as
// it speaks the messages of package wire.
type Transport interface {
	// Start begins one conversation. The context is only for starting.
	Start(ctx context.Context, l *Launch) (Link, error)
}

// A Launch says how to start a conversation. It is everything that a command line gets
// before its first message.
type Launch struct {
	// Args are the command line's flags, without the name of the program.
	Args []string
	// Env is the whole environment, as name=value.
	Env []string
	// Dir is the working directory; "" means that of this program.
	Dir string
	// Stderr is given each line of diagnostics; it may be nil.
	Stderr func(line string)
}

// A Link is one conversation. Read returns io.EOF when the other side has sent its last
// message.
type Link interface {
	wire.Stream
	// CloseWrite says that no more messages will be written. The other side then finishes
	// its work and ends. CloseWrite does not wait for that. It may be called more than
	// once.
	CloseWrite() error
	// Wait waits until the other side has ended by itself, and returns how: nil, or an
	// *[ExitError].
	Wait() error
	// Close ends the other side, by force if necessary, and waits for it. A blocked Write,
	// and every later one, fails, and Read no longer blocks. Close may be called more than
	// once.
	Close() error
}

// An ExitError means that the command line ended with an error.
type ExitError struct {
	// Code is its exit code, -1 if a signal ended it.
	Code int
	// Status says how it ended, as in "exit status 1" or "signal: killed".
	Status string
	// Stderr is the end of what it wrote there.
	Stderr string
}

func (e *ExitError) Error() string {
	s := "haft exited with " + e.Status
	if tail := strings.TrimSpace(e.Stderr); tail != "" {
		s += "; it said: " + tail
	}
	return s
}

// Is lets errors.Is find [ErrNoSession] when the session to resume does not exist.
func (e *ExitError) Is(target error) bool {
	return target == ErrNoSession && strings.Contains(e.Stderr, noConversation)
}

// noConversation is what command lines write before the id of a session that does not
// exist.
const noConversation = "No conversation found with session ID"

// A ResultError means that the last result of a query is an error.
type ResultError struct{ Result *Result }

func (e *ResultError) Error() string {
	r := e.Result
	switch {
	case len(r.Errors) > 0:
		return fmt.Sprintf("the agent ended with %s: %s", r.Subtype, strings.Join(r.Errors, "; "))
	case r.Result != "":
		return "the agent ended with an error: " + r.Result
	}
	return "the agent ended with " + r.Subtype
}

// Is lets errors.Is find [ErrNoSession], as for an [ExitError].
func (e *ResultError) Is(target error) bool {
	said := func(text string) bool { return strings.Contains(text, noConversation) }
	return target == ErrNoSession && (said(e.Result.Result) || slices.ContainsFunc(e.Result.Errors, said))
}
