// Package platform says which operating systems haft supports and what it lacks on
// each. docs/platforms.md and haft doctor show the same list.
package platform

import "slices"

// Supported are the systems that CI vets and builds for. Tests run on the first.
var Supported = []string{"linux", "darwin", "freebsd", "windows"}

// A Limit is something that works on Linux and not on other systems.
type Limit struct {
	// Text is a sentence for users.
	Text string
	// Systems are those that have the limit.
	Systems []string
}

// Limits are all there are, the most important first.
var Limits = []Limit{
	{"Bash and everything else that runs shell commands is refused.", []string{"windows"}},
	{"A command that starts a session of its own (setsid), or still runs when haft is killed with kill -9, is not ended.", []string{"darwin", "freebsd"}},
	{"What an MCP server or a hook has started is not ended with it.", []string{"windows"}},
	{"Two processes can continue the same session at once, and each spoils what the other writes.", []string{"windows"}},
	{"Trust belongs to the path of a folder: another folder that takes its place is trusted too.", []string{"windows"}},
	{"An edit does not keep the extended attributes of a file.", []string{"darwin", "freebsd", "windows"}},
	{"A checkpoint misses a change that leaves the size and the time of a file as they were.", []string{"darwin", "freebsd", "windows"}},
	{"Free space is not checked before a write: a full disk is noticed during it. The old file stays whole.", []string{"darwin", "freebsd", "windows"}},
	{"A search looks at every folder again, because changes are not watched.", []string{"darwin", "freebsd", "windows"}},
	{"haft cannot be suspended with ctrl+z.", []string{"windows"}},
}

// Of returns the limits of a system by its GOOS, and whether it is supported.
func Of(goos string) (limits []string, supported bool) {
	for _, l := range Limits {
		if slices.Contains(l.Systems, goos) {
			limits = append(limits, l.Text)
		}
	}
	return limits, slices.Contains(Supported, goos)
}
