package notebook

import "github.com/haftdev/haft/internal/world/workspace/textfile"

// cellEdit is a change of one cell: the splices that make it, and what is known about the cell.
type cellEdit struct {
	splices   []textfile.Splice
	id        string
	cellType  string
	language  string // of a code cell
	oldSource string
}
