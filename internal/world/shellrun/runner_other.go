//go:build !linux

package shellrun

// A Reexec is the proof that the program's main calls Supervise first. Only
// Linux has a supervisor.
type Reexec struct{}

// Supervise makes this process the supervisor, if it was started as one. Here
// it never is: only Linux has a supervisor.
func Supervise() Reexec { return Reexec{} }

func newRunner(Reexec, bool) baseRunner { return direct{} }
