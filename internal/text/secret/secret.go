// Package secret is the one list of files that hold keys, passwords and tokens.
//
// Whatever reads files for a model asks it: the tools for files, the search, the analysis of commands, what instructions
// include, and the sandbox, which hides [Paths]. [Where.Look] says what a path is; the verdict that follows from a [Level] is
// the caller's. Where a path is spelled in several ways, each spelling is looked up and the strictest counts.
//
// Everything here works on names and touches no file. All of it is safe for concurrent use.
package secret

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// A Level says who may read a file.
type Level int

const (
	// Open files are no secret.
	Open Level = iota
	// Guarded files are shown to a model only if the user agrees.
	Guarded
	// Closed files are the user's own keys and credentials, and the system's. No tool shows them, in any mode.
	Closed
)

// An Entry is one line of the list.
type Entry struct {
	Pattern string // see [Parse]
	What    string // what such a file is, as a sentence continues after its name; "" if it is open
	Level   Level
}

// Where is what a path is looked up from.
type Where struct {
	Homes []string // the home directory, under each name that it has
	Roots []string // the folders of the project, likewise: entries without an anchor hold for what lies below them
}

// Look returns the entry for an absolute clean path, the zero Entry if it is no secret.
func (w Where) Look(path string) Entry {
	n := w.Names(path)
	return n.Look()
}

// Names takes a path apart.
func (w Where) Names(path string) Names {
	n := Names{All: Fold(path)}
	for _, home := range w.Homes {
		if rest, ok := pathin.BelowFold(home, path); ok {
			n.Below = append(n.Below, n.end(path, rest))
		}
	}
	n.Inside = n.All
	for _, root := range w.Roots {
		if rest, ok := pathin.Below(root, path); ok {
			n.Inside = n.end(path, rest)
		}
	}
	return n
}

// GuardedNames returns the patterns of what is guarded in any folder.
func GuardedNames() []string {
	var names []string
	for _, e := range list() {
		if e.Level == Guarded && e.Pattern[0] != '~' && e.Pattern[0] != '/' {
			names = append(names, e.Pattern)
		}
	}
	return names
}

// An Anchored path is of a file or folder of the user or the system that nobody sees unasked.
type Anchored struct {
	// Path is absolute. Its last name may be a pattern, as [filepath.Glob] takes it.
	Path string
	// Except are patterns of files in it that are no secret.
	Except []string
}

// Paths returns the closed files and folders for a home directory, and the guarded ones in it. They need not exist.
func Paths(home string) []Anchored {
	var out []Anchored
	for _, e := range list() {
		if e.Level == Open || e.Level == Guarded && !strings.HasPrefix(e.Pattern, "~/") {
			continue
		}
		a := Anchored{Path: absolute(e.Pattern, home)}
		for _, other := range list() {
			if o := absolute(other.Pattern, home); other.Level == Open && o != "" && pathin.Contains(a.Path, o) {
				a.Except = append(a.Except, o)
			}
		}
		out = append(out, a)
	}
	return out
}

// absolute returns the path that a pattern with an anchor stands for, "" if it has none.
func absolute(pattern, home string) string {
	pattern = strings.TrimSuffix(pattern, "/**")
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(pattern) {
		return pattern
	}
	return ""
}

// Samples are names that stand for those of secrets: what a pattern of a command must not be aimed at.
func Samples() []string {
	var out []string
	for _, e := range list() {
		if e.Level == Open {
			continue
		}
		names := e.pattern.parts
		name := names[len(names)-1].text
		if strings.HasPrefix(names[0].text, ".") {
			name = names[0].text
		}
		switch {
		case strings.HasPrefix(name, ".*"):
			name = ".bash" + name[2:]
		case strings.HasPrefix(name, "*"):
			name = "server" + name[1:]
		}
		out = append(out, strings.ReplaceAll(name, "*", ""))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// entry is a line of the list that was taken apart.
type entry struct {
	Entry
	pattern Pattern
}

func compile(entries []Entry) []entry {
	out := make([]entry, len(entries))
	for i, e := range entries {
		out[i] = entry{e, Parse(e.Pattern)}
	}
	return out
}
