// Package platform says which operating systems haft supports and what it lacks on
// each. docs/platforms.md and haft doctor show the same list.
package platform

import (
	"slices"

	"github.com/haftdev/haft/internal/text/lang"
)

// Supported are the systems that CI checks. Tests run on the first.
var Supported = []string{"linux", "darwin", "freebsd", "windows"}

// A Limit is something that works on Linux but not on some other system.
type Limit struct {
	// Text is a sentence for users.
	Text lang.Text
	// Systems are the values of GOOS that have the limit.
	Systems []string
}

// Limits are all known limits, the most important first.
var Limits = []Limit{
	{"Bash, and everything else that needs a Unix shell, is refused. Hooks run with cmd.", []string{"windows"}},
	{"Commands are not confined by a sandbox and cannot be previewed.", []string{"darwin", "freebsd"}},
	{"A command that starts its own session (setsid), or is still running when haft is killed with kill -9, is not stopped.", []string{"darwin", "freebsd"}},
	{"Processes that an MCP server or a hook has started are not stopped with it.", []string{"windows"}},
	{"Two processes can resume the same session at the same time and damage its file.", []string{"windows"}},
	{"Trust is tied to the path of a folder: another folder that takes its place is trusted too.", []string{"windows"}},
	{"Editing a file does not keep its extended attributes.", []string{"darwin", "freebsd", "windows"}},
	{"A checkpoint misses a change that keeps the size and modification time of a file.", []string{"darwin", "freebsd", "windows"}},
	{"Free space is not checked before a write, so a full disk is noticed only during the write. The old file stays intact.", []string{"darwin", "freebsd", "windows"}},
	{"Each search reads every folder again, because changes are not watched.", []string{"darwin", "freebsd", "windows"}},
	{"haft attach does not work.", []string{"windows"}},
	{"haft cannot be suspended with ctrl+z.", []string{"windows"}},
}

// Of returns the limits of a system by its GOOS, and whether it is supported.
func Of(goos string) (limits []lang.Text, supported bool) {
	for _, l := range Limits {
		if slices.Contains(l.Systems, goos) {
			limits = append(limits, l.Text)
		}
	}
	return limits, slices.Contains(Supported, goos)
}
