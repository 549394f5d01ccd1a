package bash

// maxRefused bounds what is remembered of commands that the sandbox was in the way
// of.
const maxRefused = 64

// A refusedCommand wanted what the sandbox does not let it have.
type refusedCommand struct{ agent, command, wanted string }

// lastBytes is where complaints are, which come last.
func lastBytes(text string) string { return text[max(0, len(text)-4000):] }
