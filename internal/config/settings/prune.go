package settings

// A Place is a value on its way through [Settings.Prune].
type Place struct {
	Value
	// Path is the keys that lead to it; elements of lists have their number.
	Path []string
}

// A Choice decides what happens to a value in [Settings.Prune].
type Choice int

const (
	// Drop leaves the value out.
	Drop Choice = iota
	// Keep keeps it unchanged.
	Keep
	// Enter decides separately for each of its members or elements.
	Enter
)

// Prune returns settings with only what choose keeps. Everything else, including problems,
// stays as it is. choose is called for the members of each file first.
func (s *Settings) Prune(choose func(Place) Choice) *Settings {
	pruned := &Settings{files: make([]*File, len(s.files))}
	for i, f := range s.files {
		n := *f
		n.root = f.prune(f.root, nil, choose)
		pruned.files[i] = &n
	}
	return pruned
}
