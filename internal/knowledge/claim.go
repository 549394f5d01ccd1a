package knowledge

// Kind is what a piece of knowledge is.
type Kind string

const (
	Skill   Kind = "skill"
	Command Kind = "command"
	Agent   Kind = "agent"
	Style   Kind = "output-style"
	Tool    Kind = "tool"
)

// A Claim is a piece of a project that asks to count.
type Claim struct {
	Kind Kind
	// Name is what it is known by.
	Name string
	// Path is its file, Text all that the file says.
	Path, Text string
	// Files are the hashes of the other files that belong to it, such as a skill's
	// scripts, by path.
	Files map[string]string
	// Runs are the commands in its text and the rules that it allows itself, which
	// may name other files of the project.
	Runs []string
	// Grants say what it would be allowed and run, for people: "allows: …", "runs: …",
	// "hook: …", of an agent "tools: …", "mode: …".
	Grants []string
	// Hooks says that it has hooks.
	Hooks bool
}

// Trust says whether a user has agreed to a claim as it is. Nil agrees to none.
// It must be safe for concurrent use.
type Trust func(Claim) bool
