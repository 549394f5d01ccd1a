// Package knowledge is what people write down for models in files: project
// instructions, skills, commands, definitions of agents, and plugins that bring
// them together. Its packages read such files and say what they mean; the tools,
// the agent loop and the front ends use them.
//
// Whoever wrote a repository wrote its files too. What a file of a project may do
// before a user trusts it is decided by functions that the packages are given:
// they know nothing about how trust is kept. A file that cannot be used is a
// [Problem] and never an error: someone's broken file must not keep anybody from
// starting.
//
// This package holds what the others share. Its values are safe for concurrent
// use.
package knowledge

// A Problem is something about a file that its owner should know.
type Problem struct {
	// Path is the file.
	Path string `json:"path"`
	// Text says what is wrong and what that means.
	Text string `json:"text"`
}

func (p Problem) String() string { return p.Path + ": " + p.Text }
