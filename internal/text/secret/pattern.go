package secret

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"golang.org/x/text/unicode/norm"
)

// A Pattern matches paths by their names, as a careless file system or reader takes them.
type Pattern struct {
	parts    []part
	home     bool // anchored at the home directory
	absolute bool // anchored at the root of the file system
	deep     bool // covers everything below
}

// Parse reads a pattern in lower case. "~/" anchors it at the home directory, "/" at the root of the file system; others match
// at any depth. "/**" at the end covers the directory and all in it; a star in a name stands for anything in that name.
func Parse(pattern string) Pattern {
	s, home := strings.CutPrefix(pattern, "~/")
	s, absolute := strings.CutPrefix(s, "/")
	s, deep := strings.CutSuffix(s, "/**")
	p := Pattern{home: home, absolute: absolute, deep: deep}
	for name := range strings.SplitSeq(s, "/") {
		p.parts = append(p.parts, parsePart(name))
	}
	return p
}

// A part is the pattern of one name. Those with one star, and no other sign, are taken
// apart: every path that a tool is given is compared with all of them.
type part struct {
	text          string
	before, after string // of the star
	star, other   bool   // has one star; has more than that
}

func parsePart(text string) part {
	p := part{text: text}
	p.before, p.after, p.star = strings.Cut(text, "*")
	p.other = strings.ContainsAny(p.before, `?[\`) || strings.ContainsAny(p.after, `*?[\`)
	return p
}

func (p *part) matches(name string) bool {
	switch {
	case p.other:
		ok, err := path.Match(p.text, name)
		return ok && err == nil
	case p.star:
		return len(name) >= len(p.before)+len(p.after) && strings.HasPrefix(name, p.before) && strings.HasSuffix(name, p.after)
	}
	return p.text == name
}

// Names are the names in a path, folded.
type Names struct {
	All    []string   // from the root of the file system
	Below  [][]string // below each home directory that holds it
	Inside []string   // inside the project; all of them outside of it
}

// end returns the names of the rest of a path, which are the last of all if the rest is spelled as the path is.
func (n *Names) end(path, rest string) []string {
	if !strings.HasSuffix(path, rest) {
		return Fold(rest)
	}
	count := 0
	for name := range strings.SplitSeq(filepath.ToSlash(rest), "/") {
		if name != "" {
			count++
		}
	}
	return n.All[len(n.All)-count:]
}

// Look returns the first entry that matches.
func (n *Names) Look() Entry {
	list := list()
	for i := range list {
		if list[i].pattern.Matches(n) {
			return list[i].Entry
		}
	}
	return Entry{}
}

// Matches reports whether a pattern is about a path.
func (p *Pattern) Matches(n *Names) bool {
	switch {
	case p.absolute:
		return p.begins(n.All)
	case p.home:
		return slices.ContainsFunc(n.Below, p.begins)
	}
	spare := len(n.Inside) - len(p.parts)
	if !p.deep { // it ends with the path
		return spare >= 0 && p.begins(n.Inside[spare:])
	}
	for i := 0; i <= spare; i++ {
		if p.begins(n.Inside[i:]) {
			return true
		}
	}
	return false
}

// begins compares with all of the given names, or with their beginning if the pattern is deep.
func (p *Pattern) begins(names []string) bool {
	if len(names) < len(p.parts) || !p.deep && len(names) != len(p.parts) {
		return false
	}
	for i := range p.parts {
		if !p.parts[i].matches(names[i]) {
			return false
		}
	}
	return true
}

var shortName = lazyregexp.New(`^([a-z0-9_]{1,6})~[0-9]+$`)

// lookalikes are letters that a reader, or a file system that folds them, takes for
// plain ones.
var lookalikes = map[rune]rune{
	'ı': 'i', 'İ': 'i', 'і': 'i', 'І': 'i', 'ι': 'i', 'ɩ': 'i', 'ⅰ': 'i', 'ӏ': 'l', 'ⅼ': 'l', 'ƚ': 'l', 'а': 'a', 'А': 'a', 'α': 'a', 'ɑ': 'a', 'е': 'e', 'Е': 'e', 'ҽ': 'e', 'о': 'o', 'О': 'o', 'ο': 'o', 'σ': 'o', 'օ': 'o',
	'с': 'c', 'С': 'c', 'ϲ': 'c', 'р': 'p', 'Р': 'p', 'ρ': 'p', 'х': 'x', 'Х': 'x', 'χ': 'x', 'у': 'y', 'У': 'y', 'γ': 'y', 'ѕ': 's', 'Ѕ': 's', 'ԁ': 'd', 'ɡ': 'g', 'ց': 'g', 'ԍ': 'g', 'һ': 'h', 'н': 'h', 'ј': 'j', 'κ': 'k', 'к': 'k',
	'м': 'm', 'М': 'm', 'ո': 'n', 'п': 'n', 'η': 'n', 'г': 'r', 'т': 't', 'Т': 't', 'τ': 't', 'υ': 'u', 'ս': 'u', 'ν': 'v', 'ѵ': 'v', 'ԝ': 'w', 'ω': 'w', 'в': 'b', 'В': 'b', 'Ь': 'b', 'ſ': 's', 'ꞌ': '\'', '․': '.', '。': '.', '．': '.', '∙': '.', '·': '.',
}

// Fold writes the components of a path as a careless file system or reader would take them: lower case, compatibility
// forms as plain ones, nothing invisible, no trailing dots or blanks, no stream or short-name spelling.
func Fold(p string) []string {
	p = filepath.ToSlash(p)
	out := make([]string, 0, 1+strings.Count(p, "/"))
	for c := range strings.SplitSeq(p, "/") {
		if c == "" {
			continue
		}
		if !plain(c) {
			c = foldName(c)
		}
		out = append(out, c)
	}
	return out
}

// plain reports whether folding leaves a name as it is, as it does with most.
func plain(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return name[len(name)-1] != '.'
}

func foldName(c string) string {
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
	return c
}
