package workspace

// refs is what the folder's repository says about its branches.
type refs struct {
	head string // what HEAD says
	mark string // changes with anything
}

// maxRefs is how much of the files of refs is read.
const maxRefs = 16 << 20

// headsRef is where the branches of the folder are kept, detachedRef a commit that has none.
const (
	headsRef    = "refs/haft/heads/"
	detachedRef = "refs/haft/detached"
)

// branches are those of the folder, as they were last fetched.
type branches struct {
	mark string // of the refs that they were read with; "" if they could not be fetched
	*state
	left  []leftOut        // that cannot be stored
	files map[string]entry // of the commit that is checked out
}
