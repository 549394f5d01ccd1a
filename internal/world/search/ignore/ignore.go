// Package ignore decides which files of a tree are ignored: .gitignore, .ignore
// and .rgignore at every level, a repository's info/exclude and the user's global
// excludes, with ripgrep's precedence between the kinds and git's meaning of each
// line.
//
// [Parse] reads one file of rules. [Root] and [Dir.Child] follow a walk downwards;
// [Dir.Match] decides an entry of the directory. Rules above the root count, a
// nested repository cuts off the .gitignore files around it, and .gitignore files
// outside any repository have no effect. All values are immutable and safe for
// concurrent use.
//
// Trust: rule files come from the tree and are only matched, never executed. They
// can hide files from a search; callers say so in their results.
package ignore

import (
	"bytes"
	"strings"

	"github.com/haftdev/haft/internal/world/search/glob"
)

// Verdict is what rules say of a path.
type Verdict int8

const (
	None    Verdict = iota // no rule matches
	Ignore                 // ignored
	Include                // a negated rule matches: kept whatever weaker rules say
)

// Rules is one file of rules. The nil value has none.
type Rules struct {
	rules []rule
	names map[string][]int // rules that are a plain name
	paths map[string][]int // rules that are a plain path
	exts  map[string][]int // rules that are *.ext
	rest  []int
}

type rule struct {
	glob    *glob.Glob
	base    bool // matches the last element at any depth
	dirOnly bool
	negated bool
}

// Parse reads rules in the format of gitignore(5).
func Parse(text []byte) *Rules {
	r := &Rules{names: map[string][]int{}, paths: map[string][]int{}, exts: map[string][]int{}}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	for line := range strings.SplitSeq(string(text), "\n") {
		r.add(strings.TrimSuffix(line, "\r"))
	}
	if len(r.rules) == 0 {
		return nil
	}
	return r
}

func (r *Rules) add(line string) {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return
	}
	ru := rule{}
	if line[0] == '!' {
		ru.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		ru.dirOnly, line = true, line[:len(line)-1]
	}
	if line == "" {
		return
	}
	ru.base = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	pattern := line
	if ru.base {
		pattern = "**/" + strings.ReplaceAll(line, "**", "*")
	}
	g, err := glob.Compile(pattern, &glob.Options{Bytes: true})
	if err != nil {
		return
	}
	ru.glob = g
	n := len(r.rules)
	r.rules = append(r.rules, ru)
	switch {
	case ru.base && !strings.ContainsAny(line, `*?[\`):
		r.names[line] = append(r.names[line], n)
	case !strings.ContainsAny(line, `*?[\`):
		r.paths[line] = append(r.paths[line], n)
	case ru.base && isExt(line):
		r.exts[line[1:]] = append(r.exts[line[1:]], n)
	default:
		r.rest = append(r.rest, n)
	}
}

// isExt recognizes *.ext.
func isExt(p string) bool {
	return strings.HasPrefix(p, "*.") && !strings.ContainsAny(p[2:], `.*?[\`)
}

// trimSpaces drops trailing spaces unless escaped.
func trimSpaces(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' {
		slashes := 0
		for end-2-slashes >= 0 && line[end-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		end--
	}
	return line[:end]
}

// Match decides path, slash-separated and relative to the directory of the rules.
// The last rule that matches counts. Parents are not considered: a walk does not
// enter an ignored directory.
func (r *Rules) Match(path string, isDir bool) Verdict {
	if r == nil {
		return None
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	best := r.last(r.names[base], -1, isDir)
	if dot := strings.LastIndexByte(base, '.'); dot >= 0 {
		best = r.last(r.exts[base[dot:]], best, isDir)
	}
	if len(r.paths) > 0 {
		best = r.last(r.paths[path], best, isDir)
	}
	for i := len(r.rest) - 1; i >= 0 && r.rest[i] > best; i-- {
		ru := &r.rules[r.rest[i]]
		if ru.dirOnly && !isDir {
			continue
		}
		if ru.base && ru.glob.MatchBase(base) || !ru.base && ru.glob.Match(path) {
			best = r.rest[i]
			break
		}
	}
	switch {
	case best < 0:
		return None
	case r.rules[best].negated:
		return Include
	}
	return Ignore
}

// last picks the latest of rules, all of which match by name, that applies.
func (r *Rules) last(rules []int, best int, isDir bool) int {
	for i := len(rules) - 1; i >= 0 && rules[i] > best; i-- {
		if isDir || !r.rules[rules[i]].dirOnly {
			return rules[i]
		}
	}
	return best
}
