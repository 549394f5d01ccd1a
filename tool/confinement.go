package tool

// A Confined output says what held its call, which is less than the verdict where
// the machine confines nothing, and with what: a tier of package sandbox.
type Confined interface {
	ConfinedTo() (c Confinement, tier string)
}

// A Confinement is what the kernel holds a command to, whatever the command was
// judged to do.
type Confinement string

const (
	// Unconfined commands run with all rights of the user.
	Unconfined Confinement = "none"
	// ReadOnly commands write nothing and reach nobody.
	ReadOnly Confinement = "read-only"
	// ProjectOnly commands write in the project and reach the hosts that the
	// settings allow.
	ProjectOnly Confinement = "project"
	// Previewed commands change a layer above the project, which is applied once
	// it was approved.
	Previewed Confinement = "preview"
)
