package worker

import (
	"path/filepath"
	"strings"
)

// denials are the rules that close a file or folder, under the name it has and the one that links lead to.
func denials(path string) (rules []string) {
	names := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		names = append(names, real)
	}
	for _, name := range names {
		text := "/" + literal.Replace(filepath.ToSlash(name))
		for _, tool := range []string{"Read", "Edit"} {
			rules = append(rules, tool+"("+text+")", tool+"("+text+"/**)")
		}
	}
	return rules
}

// literal lets a pattern match only the name itself.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)
