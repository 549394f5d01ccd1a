package hook

import (
	"time"

	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/tool"
)

// A Run is one hook's run, for observers.
type Run struct {
	Event  Event
	Hook   string // its name
	Origin string
	// Tool and Call are the call that the event is about, if it is about one.
	Tool, Call string
	Agent      string
	Started    time.Time
	Duration   time.Duration
	// Behavior is the hook's decision: Allow, Ask, Deny, or NoView if it made none.
	Behavior tool.Behavior
	Reason   string
	// Err is what was wrong with the hook itself; nil if nothing was.
	Err error
	// Cancelled says that the hook was stopped with what it ran for, and did not fail; Err
	// is why.
	Cancelled bool
	// InCode says that it is a function of this program.
	InCode bool
	// ExitCode is that of a command, or -1 if it did not exit by itself or the hook is not
	// a command.
	ExitCode int
	// Stdout is the beginning of a command's output or a URL's answer; Stderr is the end of
	// a command's error output.
	Stdout, Stderr string
	// Dropped is how many bytes of output were discarded because there were too many.
	Dropped int64
	// Message is for the user. Suppress keeps what the hook printed from them.
	Message  string
	Suppress bool

	said said
}

// Failed reports whether the hook failed: its answer is not known.
func (r *Run) Failed() bool { return r.Err != nil && !r.Cancelled }

// ShortName is the hook's name as one line that is not too long.
func (r *Run) ShortName() string {
	return shorten.Line(r.Hook, 200)
}
