package permission

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// A pathPattern matches files the way .gitignore does, from one of four places:
// //x from the root of the file system, ~/x from home, /x from the project (from
// ~/.claude in the user's settings), and x from the folder that the session started in. A
// name without a slash matches at any depth, except one with ./ before it in a rule that
// allows; so does a single folder (x/**) in a rule that denies or asks.
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

// places are the folders that patterns start from, and where commands start.
type places struct {
	start, home, project string
	cwd                  string // is start, until a command changes the folder; no pattern starts there
}

// base returns the folder that the pattern of a rule about paths starts from; "" if there is
// none.
func (r *Rule) base(at places) string {
	switch r.path.anchor {
	case fromRoot:
		return "/"
	case fromHome:
		return at.home
	case fromSettings:
		if r.Origin.Source == settings.User {
			return path.Join(at.home, ".claude")
		}
		return at.project
	}
	return at.start
}

// original returns the file that one in a worktree is a version of, and the root of that
// worktree.
func original(file string) (name, root string, ok bool) {
	before, after, ok := strings.Cut(file+"/", "/"+guard.Worktrees+"/")
	if !ok {
		return "", "", false
	}
	tree, rest, _ := strings.Cut(after, "/")
	return path.Join("/", before, rest), path.Join("/", before, guard.Worktrees, tree), true
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
	if r.Behavior == tool.Allow {
		return r.matches(f.Path, p.at) && r.matches(f.Real, p.real)
	}
	return r.matches(f.Path, p.at) || r.matches(f.Real, p.real)
}

// matches reports whether the rule is about a file. What it says about a file holds for the
// file's versions in worktrees as well; what it allows holds only for those who work there.
func (r *Rule) matches(file string, at places) bool {
	base, fold := r.base(at), r.Behavior != tool.Allow
	if base == "" {
		return false
	}
	if r.path.matches(file, base, fold) {
		return true
	}
	name, root, ok := original(file)
	return ok && (r.Behavior != tool.Allow || pathin.Contains(root, at.cwd)) && r.path.matches(name, base, fold)
}
