//go:build !unix

package shellrun

import (
	"errors"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// errUnsupported is returned on systems on which haft cannot run shell commands yet.
var errUnsupported = errors.New("shell commands are not supported on this system yet")

// direct refuses: job objects, which Windows has for this, are not written yet.
type direct struct{}

func (direct) tidy(string)                       {}
func (direct) tier(sandbox.Network) sandbox.Tier { return sandbox.Tier{} }
func (direct) holds() bool                       { return false }
func (direct) Close() error                      { return nil }
func (direct) Start(Command) (Process, error)    { return nil, errUnsupported }
