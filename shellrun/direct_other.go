//go:build !unix

package shellrun

// direct refuses: job objects, which Windows has for this, are not written yet.
type direct struct{}

func (direct) tidy(string)                    {}
func (direct) Close() error                   { return nil }
func (direct) Start(Command) (Process, error) { return nil, ErrUnsupported }
