package shellrun

import (
	"errors"
	"os"
	"time"

	"github.com/haftdev/haft/sandbox"
)

// A Command is one process to start. Its files stay the caller's to close.
type Command struct {
	Path string   // the executable, absolute
	Args []string // argv, argv[0] included
	Env  []string // the whole environment, "NAME=value"
	Dir  string   // the working directory, absolute

	Input  *os.File // the standard input; nil means an empty one
	Output *os.File // the standard output
	Errors *os.File // the standard error; nil means Output

	// Box confines the command; nil means not at all. Start fails with
	// [sandbox.ErrUnavailable] where nothing can confine it.
	Box *sandbox.Spec

	// Expendable makes the kernel end the command, or what it starts, before anything else
	// when there is no memory left, where the system knows that.
	Expendable bool

	// Hold stays open, in a process that outlives the harness, until nothing of the
	// command is left: a lock on it tells others when that is. Nil means none. The
	// command does not inherit it.
	Hold *os.File
}

// files returns the three standard files of the command.
func (c *Command) files(null *os.File) []*os.File {
	files := []*os.File{null, c.Output, c.Output}
	if c.Input != nil {
		files[0] = c.Input
	}
	if c.Errors != nil {
		files[2] = c.Errors
	}
	return files
}

// A Runner starts processes. It is a seam: a Runner may change the Command, such
// as by setting its Box, and hand it to the Runner it wraps. A Runner is safe for
// concurrent use.
type Runner interface {
	Start(Command) (Process, error)
}

// A baseRunner is what a Host starts processes with when nothing wraps it.
type baseRunner interface {
	Runner
	// tidy names a directory to remove at the end, also when the harness is
	// killed, where there is someone to do it.
	tidy(dir string)
	// tier finds out what can confine commands on this network.
	tier(sandbox.Network) sandbox.Tier
	Close() error
}

// A Process is a started command together with everything it starts.
type Process interface {
	PID() int

	// End asks the whole tree to stop, and after grace kills what is left of
	// it. It returns at once; Done tells when it is over.
	End(grace time.Duration)

	// Done is closed when the command has exited and none of its descendants is
	// left, or when they could not be ended.
	Done() <-chan struct{}

	// Status may be called once Done is closed.
	Status() Status
}

// A Status says how a Process ended.
type Status struct {
	Code   int      // the exit code; 128+n for death by signal n, as a shell reports it
	Signal int      // the signal that ended the command, 0 for none
	Ended  []string // names of the descendants that had outlived the command and were ended
	Left   []int    // pids that could not be ended: another user's, or asleep in the kernel

	UserTime, SystemTime time.Duration // of the command and the children it waited for

	Tier    sandbox.Kind    // what confined the command
	Refused []string        // the hosts that it wanted to reach and could not, as "name:port"
	Taken   []sandbox.Taken // what it put at protected paths that did not exist, moved away

	Err error // the command's end was not seen: the supervisor was killed
}

// ErrUnsupported is returned on systems where haft cannot run shell commands
// yet.
var ErrUnsupported = errors.New("shell commands are not supported on this system yet")
