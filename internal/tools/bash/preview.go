package bash

import (
	"context"
	"regexp"
	"sync"

	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// Previews run commands in an overlay, where they change nothing.
type Previews interface {
	// Run runs the command of a call. Nil, without an error, means that commands are not
	// previewed here.
	Run(ctx context.Context, c *tool.Call, shell *shellrun.Shell, r shellrun.Request) (Previewed, error)
}

// A Previewed is a command that has run and whose change waits to be applied.
type Previewed interface {
	Task() *shellrun.Task
	// Box is what it ran in; nil for nothing.
	Box() *sandbox.Spec
	// Wanted is what the command needed and could not have, such as a host; "" for nothing.
	Wanted() string
	Preview(context.Context) (*tool.Preview, error)
	// Apply applies the change without the dropped files, completely or not at all, and
	// records it for the call.
	Apply(ctx context.Context, call string, dropped []tool.Dropped) error
	Drop() error
}

// pending is a command of a call that is asked about.
type pending struct {
	command string
	ran     Previewed
	err     error // why there is no preview
	over    bool  // the call has ended without it
	drop    func() error
}

// A pendingCall is whose it is: calls of an agent may wait at the same time.
type pendingCall struct{ agent, id string }

// missing finds complaints about services, processes and devices that are not there.
// Finding too many only means that the user is asked about the command.
var missing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)connection refused|\bECONNREFUSED\b|(?:could ?n.t|could not|cannot|can't|failed to|unable to) connect|no such process|is the docker daemon running|failed to connect to bus|not been booted with systemd|cannot open display|operation not permitted|\bEPERM\b|/dev/\w+: no such file|/(?:var/)?run/\S+: no such file|sudo: `)
})

// asideNote is for a command that may have failed, in part, because it missed something.
const asideNote = "The command ran in a preview, without network and without access to this machine's services and processes. " +
	"If it, or part of it, failed because of that, call Bash again with dangerouslyDisableSandbox set to true. Such a call needs the user's approval."
