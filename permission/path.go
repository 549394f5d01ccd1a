package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// A pathPattern matches files the way .gitignore does, from one of four places:
// //x from the root of the file system, ~/x from home, /x from the project (from
// ~/.claude in the user's settings), and x from the working directory, which commands can
// change. A name without a slash matches at any depth, and so does a single folder (x/**) in a
// rule that denies or asks.
type pathPattern struct {
	anchor  anchor
	pattern string // relative to the anchor, or to any folder below it if floats
	floats  bool
}

type anchor int

const (
	fromCwd anchor = iota
	fromRoot
	fromHome
	fromSettings
)

// places are the folders that patterns start from.
type places struct {
	start, home, project string
	cwd                  string // is start, until a command changes the folder
}

// bases returns the folders that the pattern of a rule about paths starts from. A command
// that changes the folder must not lift what a rule denies.
func (r *Rule) bases(at places) []string {
	switch p := r.path; {
	case p.anchor == fromRoot:
		return []string{"/"}
	case p.anchor == fromHome && at.home == "":
		return nil
	case p.anchor == fromHome:
		return []string{at.home}
	case p.anchor == fromSettings && r.Origin.Source == settings.User:
		return []string{path.Join(at.home, ".claude")}
	case p.anchor == fromSettings:
		return []string{at.project}
	case r.Behavior == tool.Allow || at.start == at.cwd:
		return []string{at.cwd}
	}
	return []string{at.start, at.cwd}
}

// matches reports whether the pattern covers an absolute clean path. A pattern that covers
// a folder covers everything in it.
func (p *pathPattern) matches(file, base string, fold bool) bool {
	rel, err := filepath.Rel(base, file)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return false
	}
	pattern := p.pattern
	if p.floats {
		pattern = "**/" + pattern
	}
	if fold {
		pattern, rel = strings.ToLower(pattern), strings.ToLower(rel)
	}
	for ; rel != "."; rel = path.Dir(rel) {
		if doublestar.MatchUnvalidated(pattern, rel) {
			return true
		}
	}
	return false
}

// coversPath reports whether the rule covers a file. A rule that denies or asks must match
// one of its names; a rule that allows must match both.
func (r *Rule) coversPath(f guard.Facts, p *Policy) bool {
	if r.path == nil {
		return true
	}
	strict := r.Behavior == tool.Allow
	matches := func(file string, at places) bool {
		return slices.ContainsFunc(r.bases(at), func(base string) bool { return r.path.matches(file, base, !strict) })
	}
	given, real := matches(f.Path, p.at), matches(f.Real, p.real)
	if strict {
		return given && real
	}
	return given || real
}
