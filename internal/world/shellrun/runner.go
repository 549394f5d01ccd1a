package shellrun

import (
	"os"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// A Command is one process to start. The caller closes its files.
type Command struct {
	Path string   // the executable, absolute
	Args []string // argv, argv[0] included
	Env  []string // the whole environment, "NAME=value"
	Dir  string   // the working directory, absolute

	Input  *os.File // the standard input; nil means an empty one
	Output *os.File // the standard output
	Errors *os.File // the standard error; nil means Output

	// Box confines the command; nil means no confinement. Start fails with
	// [sandbox.ErrUnavailable] where no confinement is available.
	Box *sandbox.Spec

	// Expendable makes the kernel end the command, or what it starts, first when memory runs
	// out, on systems that support it.
	Expendable bool

	// Hold is kept open, by a process that outlives the harness, until nothing is left of the
	// command: other processes can wait for that with a lock on the file. Nil means none. The
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

// A Runner starts processes. Runners can be wrapped: one may change the Command, for example
// set its Box, and pass it on to another. A Runner is safe for concurrent use.
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
	holds() bool // whether it can start commands with a thin Spec
	Close() error
}

// A Process is a started command together with everything it starts.
type Process interface {
	PID() int

	// End asks the whole process tree to stop and kills what is left of it after grace. It
	// returns at once; Done is closed when the tree has ended.
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

	Tier      sandbox.Kind      // what confined the command
	Refused   []string          // the hosts that it tried to reach and was refused, as "name:port"
	Missed    []string          // what it tried to reach outside the sandbox and was kept from, such as "localhost:5432"
	Unwritten []sandbox.Attempt // the files that it tried to change and could not
	Taken     []sandbox.Taken   // what it created at protected paths and was moved away

	Err error // set if the supervisor was killed, so that the end of the command was not observed
}
