package project

// A Shell is what shell commands of a project inherit.
type Shell struct {
	Environ []string // of this process, with what the settings add
	Pass    []string // names of it that commands inherit beside the usual ones
}
