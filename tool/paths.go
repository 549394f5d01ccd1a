package tool

// Paths are the files and directories that a call would touch, known before it runs. Names
// are absolute, or relative to the agent's working directory. A directory stands for
// everything below it.
type Paths struct {
	Reads  []string `json:"reads,omitempty"`
	Writes []string `json:"writes,omitempty"` // that it creates, changes or deletes; it may read them as well
}

// All returns what is read or written.
func (p Paths) All() []string {
	return append(append([]string(nil), p.Writes...), p.Reads...)
}
