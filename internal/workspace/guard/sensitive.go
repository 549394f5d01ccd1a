package guard

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/haftdev/haft/internal/pathin"
)

// Sensitivity says that a path names something to be careful with, and what that means for reading and writing it.
type Sensitivity struct {
	What        string // "" when it is nothing special
	Read, Write Decision
	Hard        bool // not even a session that bypasses permissions writes it
}

const (
	whatState = "the agent's journal of writes and the contents they replaced"
	whatOwn   = "the agent's own settings, trust and logs change only through the agent itself"
	whatKept  = "what the session has kept is there to be read"
	whatHook  = "a hook runs this file"
	whatBare  = "an embedded bare repository's files can run programs"
)

// sensitive judges every spelling of a path and takes the strictest view.
func (g *Guard) sensitive(f Facts) Sensitivity {
	var worst Sensitivity
	take := func(s Sensitivity) {
		if worst.What == "" {
			worst = s
		}
		if s.Write > worst.Write || s.Read > worst.Read {
			worst.What = s.What
		}
		worst.Read, worst.Write, worst.Hard = max(worst.Read, s.Read), max(worst.Write, s.Write), worst.Hard || s.Hard
	}
	for _, p := range f.spellings() {
		holds := func(dir string) bool { return pathin.ContainsFold(dir, p) }
		if slices.ContainsFunc(g.agent, holds) {
			take(Sensitivity{whatOwn, Allow, Deny, true})
		}
		if slices.ContainsFunc(g.state, holds) {
			s := Sensitivity{whatState, Ask, Deny, true}
			if f.Kept {
				s.Read = Allow
			}
			take(s)
		}
		if slices.ContainsFunc(g.hooks, func(file string) bool { return strings.EqualFold(file, p) }) {
			take(Sensitivity{whatHook, Allow, Ask, false})
		}
		take(g.lookUp(p))
	}
	if f.Kept {
		take(Sensitivity{whatKept, Allow, Deny, true})
	}
	if f.Root != "" && g.inBareRepository(f) {
		take(Sensitivity{whatBare, Allow, Ask, false})
	}
	return worst
}

// lookUp finds the first rule for one spelling.
func (g *Guard) lookUp(p string) Sensitivity {
	all := fold(p)
	var below [][]string // what lies under each home directory that holds p
	for _, home := range g.home {
		if rest, ok := pathin.BelowFold(home, p); ok {
			below = append(below, fold(rest))
		}
	}
	inside := all
	for _, r := range g.roots {
		for _, dir := range []string{r.real, r.given} {
			if rest, ok := pathin.Below(dir, p); ok {
				inside = fold(rest)
			}
		}
	}
	for _, r := range compiled() {
		if r.matchesPath(all, below, inside) {
			return r.what
		}
	}
	return Sensitivity{}
}

// matcher is a rule taken apart.
type matcher struct {
	parts    []string
	home     bool // anchored at the home directory
	absolute bool // anchored at the root of the file system
	deep     bool // covers everything below
	what     Sensitivity
}

// compiled takes the rules apart, once.
var compiled = sync.OnceValue(func() []matcher {
	out := make([]matcher, len(rules))
	for i, r := range rules {
		m := matcher{what: r.Sensitivity}
		p, home := strings.CutPrefix(r.pattern, "~/")
		p, absolute := strings.CutPrefix(p, "/")
		p, deep := strings.CutSuffix(p, "/**")
		m.home, m.absolute, m.deep, m.parts = home, absolute, deep, strings.Split(p, "/")
		out[i] = m
	}
	return out
})

// matchesPath compares a rule with a path: all of it, what lies below a home directory, and what lies inside a root.
func (m *matcher) matchesPath(all []string, below [][]string, inside []string) bool {
	switch {
	case m.absolute:
		return m.matches(all)
	case m.home:
		return slices.ContainsFunc(below, m.matches)
	}
	for i := range inside {
		if m.matches(inside[i:]) {
			return true
		}
	}
	return false
}

// matches compares with all of the given components, or with their beginning if the rule is deep.
func (m *matcher) matches(parts []string) bool {
	if len(parts) < len(m.parts) || !m.deep && len(parts) != len(m.parts) {
		return false
	}
	for i, p := range m.parts {
		if p != parts[i] && !(strings.Contains(p, "*") && glob(p, parts[i])) {
			return false
		}
	}
	return true
}

func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

var shortName = regexp.MustCompile(`^([a-z0-9_]{1,6})~[0-9]+$`)

// lookalikes are letters that a reader, or a file system that folds them, takes for
// plain ones.
var lookalikes = map[rune]rune{
	'ı': 'i', 'İ': 'i', 'і': 'i', 'І': 'i', 'ι': 'i', 'ɩ': 'i', 'ⅰ': 'i', 'ӏ': 'l', 'ⅼ': 'l', 'ƚ': 'l', 'а': 'a', 'А': 'a', 'α': 'a', 'ɑ': 'a', 'е': 'e', 'Е': 'e', 'ҽ': 'e', 'о': 'o', 'О': 'o', 'ο': 'o', 'σ': 'o', 'օ': 'o',
	'с': 'c', 'С': 'c', 'ϲ': 'c', 'р': 'p', 'Р': 'p', 'ρ': 'p', 'х': 'x', 'Х': 'x', 'χ': 'x', 'у': 'y', 'У': 'y', 'γ': 'y', 'ѕ': 's', 'Ѕ': 's', 'ԁ': 'd', 'ɡ': 'g', 'ց': 'g', 'ԍ': 'g', 'һ': 'h', 'н': 'h', 'ј': 'j', 'κ': 'k', 'к': 'k',
	'м': 'm', 'М': 'm', 'ո': 'n', 'п': 'n', 'η': 'n', 'г': 'r', 'т': 't', 'Т': 't', 'τ': 't', 'υ': 'u', 'ս': 'u', 'ν': 'v', 'ѵ': 'v', 'ԝ': 'w', 'ω': 'w', 'в': 'b', 'В': 'b', 'Ь': 'b', 'ſ': 's', 'ꞌ': '\'', '․': '.', '。': '.', '．': '.', '∙': '.', '·': '.',
}

// fold writes the components of a path as a careless file system or reader would take them: lower case, compatibility
// forms as plain ones, nothing invisible, no trailing dots or blanks, no stream or short-name spelling.
func fold(p string) []string {
	var out []string
	for c := range strings.SplitSeq(filepath.ToSlash(p), "/") {
		if c == "" {
			continue
		}
		c = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || unicode.Is(unicode.Variation_Selector, r) {
				return -1
			}
			if plain, ok := lookalikes[r]; ok {
				return plain
			}
			return r
		}, norm.NFKC.String(c))
		c, _, _ = strings.Cut(c, "::$")
		c = strings.TrimRight(strings.ToLower(c), ". ")
		if m := shortName.FindStringSubmatch(c); m != nil {
			c = "." + m[1]
		}
		out = append(out, c)
	}
	return out
}

// inBareRepository reports whether a directory between the root and the path is a repository without a work tree.
func (g *Guard) inBareRepository(f Facts) bool {
	for dir := filepath.Dir(f.Real); pathin.Contains(f.Root, dir) && dir != f.Root; dir = filepath.Dir(dir) {
		if g.is(filepath.Join(dir, "HEAD"), 0) && g.is(filepath.Join(dir, "objects"), fs.ModeDir) && g.is(filepath.Join(dir, "refs"), fs.ModeDir) {
			return true
		}
	}
	return false
}

func (g *Guard) is(p string, t fs.FileMode) bool {
	info, err := g.fs.Lstat(p)
	return err == nil && info.Mode.Type() == t
}
