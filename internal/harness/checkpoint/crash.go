package checkpoint

// The session's folder has the tree as it was before the calls that run, and a
// file per such call. Whoever finds them after a crash can tell what the calls
// changed.
const (
	treeFile   = "tree"
	openFolder = "open-calls"
)

// Recovered is what [Keeper.Recover] found and did.
type Recovered struct {
	// Calls are those whose end nobody saw; what they changed is noted.
	Calls []string
	// Restored are the files that a rewind which was cut off has put back now, Left
	// those that it leaves: someone has changed them since, or they are not the
	// project's.
	Restored, Left []string
}

const maxCallName = 4096 // bytes
