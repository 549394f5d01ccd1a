package tool

// Paths are the files and directories that a call would touch, known before it runs. Names
// are absolute, or relative to the agent's working directory. A directory stands for
// everything below it.
type Paths struct {
	Reads  []string
	Writes []string // that it creates, changes or deletes; it may read them as well
}

// All returns what is read or written.
func (p Paths) All() []string {
	return append(append([]string(nil), p.Writes...), p.Reads...)
}

// PathsOf returns what the call would touch; nothing if the tool does not say.
func (t *Tool) PathsOf(c *Call) Paths {
	if t == nil || t.Paths == nil {
		return Paths{}
	}
	return t.Paths(c)
}

// OnlyFiles reports whether [Paths] are everything that the call is about: it only reads,
// or its preview shows everything that it changes. Then a rule about files can allow it;
// for any other call, such a rule says too little.
func (t *Tool) OnlyFiles(c *Call) bool {
	return t != nil && t.Paths != nil && (t.Preview != nil || t.MarksOf(c).ReadOnly)
}
