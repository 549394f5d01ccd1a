package sched

// reach is how far a stop goes.
type reach int

const (
	// waiting stops what does not run yet.
	waiting reach = iota
	// interruptible stops also what runs and says that it may be interrupted.
	interruptible
	// everything stops all.
	everything
)
