package preview

import "fmt"

// A ConflictError says that another program changed files that the command changed
// too, and that both changes cannot be kept. Nothing was written.
type ConflictError struct {
	Paths []string
	While string // when that was
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("nothing was changed: while %s, another program changed %s too. Run the command again", e.While, Listed(e.Paths, 5))
}
