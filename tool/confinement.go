package tool

// A Confined output says what actually confined its call, and with what: a tier of package
// sandbox. That is less than the verdict says on a machine that cannot confine commands.
type Confined interface {
	ConfinedTo() (c Confinement, tier string)
}

// A Confinement is what the kernel limits a command to, whatever the command was judged to
// do.
type Confinement string

const (
	// Unconfined commands run with all rights of the user.
	Unconfined Confinement = "none"
	// Held commands can do all that the user can, except to the files that rules deny.
	Held Confinement = "rules"
	// ReadOnly commands cannot write anything or reach anyone.
	ReadOnly Confinement = "read-only"
	// ProjectOnly commands can write in the project and reach the hosts that the settings
	// allow.
	ProjectOnly Confinement = "project"
	// Previewed commands change an overlay of the project, which is applied once it is
	// approved.
	Previewed Confinement = "preview"
)
