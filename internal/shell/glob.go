package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// maxMatches bounds the files that one pattern may stand for.
const maxMatches = 5000

// expand returns the files that a pattern stands for now, as the shell would name
// them, in every directory that it may be in. It reports false if that cannot be
// told. The set may be larger than the shell's: a bracket stands for any character.
func (a *analyzer) expand(w grammar.Word) ([]string, bool) {
	if a.opts.FS == nil || w.Pattern == "" || w.Dynamic {
		return nil, false
	}
	var out []string
	for _, dir := range a.dirs {
		if strings.HasPrefix(w.Pattern, "/") {
			dir = "/"
		} else if !strings.HasPrefix(dir, "/") {
			return nil, false
		}
		matches, ok := a.expandIn(dir, w.Pattern)
		if !ok {
			return nil, false
		}
		if dir != a.opts.Cwd && !strings.HasPrefix(w.Pattern, "/") {
			for i, m := range matches {
				matches[i] = path.Join(dir, m)
			}
		}
		out = append(out, matches...)
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

// expandIn expands a pattern component by component.
func (a *analyzer) expandIn(dir, pattern string) ([]string, bool) {
	found := []string{""}
	if strings.HasPrefix(pattern, "/") {
		found = []string{"/"}
	}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, prefix := range found {
			names, ok := a.matchNames(path.Join(dir, prefix), part)
			if !ok || len(next)+len(names) > maxMatches {
				return nil, false
			}
			for _, name := range names {
				next = append(next, joinGlob(prefix, name))
			}
		}
		found = next
	}
	return found, true
}

// joinGlob puts a path together as the shell prints it: "./a" stays "./a".
func joinGlob(prefix, name string) string {
	switch {
	case prefix == "" || strings.HasSuffix(prefix, "/"):
		return prefix + name
	}
	return prefix + "/" + name
}

// matchNames returns the names in a directory that one component stands for.
func (a *analyzer) matchNames(dir, part string) ([]string, bool) {
	if !strings.ContainsAny(part, "*?[") {
		return []string{strings.ReplaceAll(part, `\`, "")}, true
	}
	re, err := regexp.Compile(globRegexp(part))
	if err != nil {
		return nil, false
	}
	entries, err := a.opts.FS.ReadDir(dir)
	if err != nil {
		return nil, true // no directory, no match
	}
	var out []string
	names := []string{".", ".."}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, name := range names {
		if (strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".")) || !re.MatchString(name) {
			continue
		}
		out = append(out, name)
	}
	return out, true
}

// globRegexp returns a regular expression for one component of a pattern. What a
// bracket stands for depends on the locale, so that it stands for any character.
func globRegexp(part string) string {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i := 0; i < len(part); i++ {
		switch c := part[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '\\':
			if i++; i < len(part) {
				b.WriteString(regexp.QuoteMeta(part[i : i+1]))
			}
		case '[':
			end := bracketEnd(part[i:])
			if end == 0 {
				b.WriteString(`\[`)
				continue
			}
			b.WriteString(`.`)
			i += end
		default:
			b.WriteString(regexp.QuoteMeta(part[i : i+1]))
		}
	}
	b.WriteString(`$`)
	return b.String()
}

// bracketEnd returns where the bracket that s begins with ends, 0 if it does not.
func bracketEnd(s string) int {
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		switch {
		case s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			if end := strings.Index(s[i+2:], s[i+1:i+2]+"]"); end >= 0 {
				i += 2 + end + 1
			}
		case s[i] == '\\':
			i++
		case s[i] == ']':
			return i
		}
	}
	return 0
}

// maxItems bounds the files that a pattern is written out as.
const maxItems = 100

// expandValues puts the files that patterns stand for in their places, where they are
// known and few.
func (a *analyzer) expandValues(args []value) []value {
	var out []value
	for _, v := range args {
		matches, ok := a.expand(v.Word)
		if !ok || len(matches) == 0 || len(matches) > maxItems || v.refuse != "" {
			out = append(out, v)
			continue
		}
		out = append(out, words(matches...)...)
	}
	return out
}
