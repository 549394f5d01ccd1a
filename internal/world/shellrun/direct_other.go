//go:build !unix

package shellrun

import "github.com/haftdev/haft/internal/world/sandbox"

// direct refuses: job objects, which Windows has for this, are not written yet.
type direct struct{}

func (direct) tidy(string)                       {}
func (direct) tier(sandbox.Network) sandbox.Tier { return sandbox.Tier{} }
func (direct) holds() bool                       { return false }
func (direct) Close() error                      { return nil }
func (direct) Start(Command) (Process, error)    { return nil, errUnsupported }
