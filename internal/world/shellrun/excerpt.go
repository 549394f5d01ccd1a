package shellrun

// An Excerpt is an Output shortened to a bounded length.
type Excerpt struct {
	Text string // if anything was left out, the first line says so, with exact counts and where the whole is

	Total     Counts
	Truncated bool
	Path      string // the file with the whole output, "" if there is none
}
