package permission

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// A pathPattern matches files the way .gitignore does, from one of four places:
// //x from the root of the file system, ~/x from home, /x from the project (from
// ~/.claude in the user's settings), and x from the working directory. A name
// without a slash matches at any depth, and so does a single folder (x/**) in a
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
	cwd, home, project string
}

// base returns the folder that the pattern of a rule starts from.
func (p *pathPattern) base(at places, source settings.Source) string {
	switch p.anchor {
	case fromRoot:
		return "/"
	case fromHome:
		return at.home
	case fromSettings:
		if source == settings.User {
			return path.Join(at.home, ".claude")
		}
		return at.project
	}
	return at.cwd
}

// matches reports whether the pattern covers an absolute clean path. A pattern that covers
// a folder covers everything in it.
func (p *pathPattern) matches(file, base string, fold bool) bool {
	if base == "" {
		return false
	}
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
	given := r.path.matches(f.Path, r.path.base(p.at, r.Origin.Source), !strict)
	real := r.path.matches(f.Real, r.path.base(p.real, r.Origin.Source), !strict)
	if strict {
		return given && real
	}
	return given || real
}
