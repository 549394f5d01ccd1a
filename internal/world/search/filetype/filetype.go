// Package filetype knows which file names belong to which language, by ripgrep's
// names for them: "go", "py", "ts". A [Matcher] is immutable and safe for
// concurrent use.
package filetype

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/search/glob"
)

// Matcher recognizes the files of some types by name.
type Matcher struct {
	exts  map[string]bool // the part from the last dot on
	names map[string]bool
	globs []*glob.Glob
}

// UnknownError is a type name that is not in the table.
type UnknownError struct {
	Name string
	Near []string // names that look alike
}

func (e *UnknownError) Error() string {
	s := fmt.Sprintf("unknown file type %q", e.Name)
	if len(e.Near) > 0 {
		return s + "; did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return s + `; use a glob such as "*.ext" instead`
}

// names lists all types, sorted.
func names() []string {
	names := make([]string, 0, len(table()))
	for n := range table() {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// New gives a matcher for the files of any of the types. The error is an
// [*UnknownError].
func New(types ...string) (*Matcher, error) {
	m := &Matcher{exts: map[string]bool{}, names: map[string]bool{}}
	for _, t := range types {
		globs, ok := table()[t]
		if !ok {
			return nil, &UnknownError{t, near(t)}
		}
		for _, g := range globs {
			m.add(g)
		}
	}
	return m, nil
}

func (m *Matcher) add(g string) {
	ext, isExt := strings.CutPrefix(g, "*.")
	switch {
	case isExt && !strings.ContainsAny(ext, `.*?[{\`):
		m.exts["."+ext] = true
	case !strings.ContainsAny(g, `*?[{\`):
		m.names[g] = true
	default:
		if c, err := glob.Compile(g, &glob.Options{Braces: true}); err == nil {
			m.globs = append(m.globs, c)
		}
	}
}

// Match decides a file by the last element of its path.
func (m *Matcher) Match(name string) bool {
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && m.exts[name[dot:]] {
		return true
	}
	if m.names[name] {
		return true
	}
	return slices.ContainsFunc(m.globs, func(g *glob.Glob) bool { return g.Match(name) })
}

// near finds the types whose name contains t, or the other way round, or that
// have t for an extension.
func near(t string) []string {
	t = strings.ToLower(strings.TrimPrefix(t, "."))
	var out []string
	for _, n := range names() {
		if t != "" && (strings.Contains(n, t) || strings.Contains(t, n) && len(n) > 1 || slices.Contains(table()[n], "*."+t)) {
			out = append(out, n)
		}
	}
	return out[:min(len(out), 5)]
}
