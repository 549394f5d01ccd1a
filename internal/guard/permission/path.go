package permission

import (
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
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

func newPathPattern(spec string, b tool.Behavior) (*pathPattern, error) {
	p := new(pathPattern)
	switch {
	case strings.HasPrefix(spec, "//"):
		p.anchor, spec = fromRoot, spec[2:]
	case strings.HasPrefix(spec, "~/"):
		p.anchor, spec = fromHome, spec[2:]
	case strings.HasPrefix(spec, "/"):
		p.anchor, spec = fromSettings, spec[1:]
	default:
		rest, here := strings.CutPrefix(spec, "./")
		spec = rest
		inside, everything := strings.CutSuffix(spec, "/**")
		guards := b != tool.Allow // which is better about too much than about too little
		p.floats = !strings.Contains(spec, "/") && (guards || !here) || everything && !strings.Contains(inside, "/") && guards
	}
	p.pattern = strings.TrimSuffix(spec, "/")
	if p.pattern == "" || !doublestar.ValidatePattern(p.pattern) {
		return nil, errors.New("the path is not a valid pattern")
	}
	return p, nil
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
