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
