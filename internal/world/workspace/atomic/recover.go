package atomic

// Leftover is what an interrupted write left and what was done about it.
type Leftover struct {
	Path   string // the file that was being written
	Action string // in a few words
	Saved  string // where the old content is kept, when the file could not be settled
}

// torn reports whether now is what a write of new over old, stopped anywhere, can have left: every byte is one of either.
func torn(now, old, new []byte) bool {
	if len(now) < min(len(old), len(new)) || len(now) > max(len(old), len(new)) {
		return false
	}
	for i, b := range now {
		if !(i < len(old) && old[i] == b) && !(i < len(new) && new[i] == b) {
			return false
		}
	}
	return true
}
