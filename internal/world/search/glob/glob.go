// Package glob matches slash-separated paths against shell-like patterns: *, ?,
// [classes], ** across directories and, where asked for, {a,b} alternatives.
//
// One implementation serves .gitignore lines, the glob parameter of Grep and the
// pattern of Glob; [Options] tell them apart. A [Glob] is immutable and safe for
// concurrent use. Common shapes (a name, *.ext, prefix*) are decided without
// backtracking.
package glob

import (
	"errors"
	"strings"
)

// Options say how a pattern is read. The zero value is a plain path pattern.
type Options struct {
	// Braces gives {a,b} its meaning; otherwise braces are literal, as in .gitignore.
	Braces bool
	// Bytes makes ? and classes match single bytes, as git does, not characters.
	Bytes bool
	// Fold ignores the case of ASCII letters.
	Fold bool
}

// Glob is a compiled pattern.
type Glob struct {
	alternatives [][]segment
}

// errBraces is a pattern whose braces do not pair up or multiply beyond reason.
var errBraces = errors.New("unbalanced or too many braces in glob pattern")

// maxAlternatives bounds what braces may expand to.
const maxAlternatives = 1024

// Compile reads a pattern whose segments are separated by slashes. A segment that
// is ** matches any number of directories, none included; at the end it matches
// everything below, but not the directory itself.
func Compile(pattern string, o *Options) (*Glob, error) {
	if o == nil {
		o = &Options{}
	}
	patterns := []string{pattern}
	if o.Braces {
		var err error
		if patterns, err = expand(pattern); err != nil {
			return nil, err
		}
	}
	g := &Glob{}
	for _, p := range patterns {
		g.alternatives = append(g.alternatives, compileSegments(p, o))
	}
	return g, nil
}

func compileSegments(p string, o *Options) []segment {
	parts := strings.Split(p, "/")
	segs := make([]segment, 0, len(parts))
	for _, part := range parts {
		s := newSegment(part, o)
		if s.kind == anyDirs && len(segs) > 0 && segs[len(segs)-1].kind == anyDirs {
			continue
		}
		segs = append(segs, s)
	}
	return segs
}

// Match reports whether the whole of path matches.
func (g *Glob) Match(path string) bool {
	for _, segs := range g.alternatives {
		if matchSegments(segs, path) {
			return true
		}
	}
	return false
}

// Prefix is the longest directory below which every match lies, without a
// trailing slash; empty if there is none.
func (g *Glob) Prefix() string {
	if len(g.alternatives) != 1 {
		return ""
	}
	var dirs []string
	segs := g.alternatives[0]
	for _, s := range segs[:len(segs)-1] {
		if s.kind != literal || s.fold {
			break
		}
		dirs = append(dirs, s.text)
	}
	return strings.Join(dirs, "/")
}

// BaseOnly reports whether the pattern looks at a path's last element alone.
func (g *Glob) BaseOnly() bool {
	for _, segs := range g.alternatives {
		if len(segs) != 2 || segs[0].kind != anyDirs || segs[1].kind == anyDirs {
			return false
		}
	}
	return true
}

// MatchBase decides a BaseOnly pattern from the last element.
func (g *Glob) MatchBase(base string) bool {
	for _, segs := range g.alternatives {
		if segs[1].match(base) {
			return true
		}
	}
	return false
}

func matchSegments(segs []segment, path string) bool {
	// The common case first: another name at the top.
	if len(segs) > 0 && segs[0].kind == literal && !strings.HasPrefix(path, segs[0].text) {
		return false
	}
	for {
		if len(segs) == 0 {
			return false
		}
		s := &segs[0]
		if s.kind == anyDirs {
			return matchAnyDirs(segs[1:], path)
		}
		name, rest, more := strings.Cut(path, "/")
		if !s.match(name) {
			return false
		}
		segs = segs[1:]
		if !more {
			return len(segs) == 0
		}
		path = rest
	}
}

// matchAnyDirs matches segs at any depth of path. When one segment remains it can
// only be the last element.
func matchAnyDirs(segs []segment, path string) bool {
	switch len(segs) {
	case 0:
		return path != ""
	case 1:
		return segs[0].match(path[strings.LastIndexByte(path, '/')+1:])
	}
	for {
		if matchSegments(segs, path) {
			return true
		}
		_, rest, more := strings.Cut(path, "/")
		if !more {
			return false
		}
		path = rest
	}
}
