package workspace

import (
	"strings"

	"github.com/haftdev/haft/internal/world/search/glob"
)

// maxEditorConfig is how much of an .editorconfig is read.
const maxEditorConfig = 64 << 10

// sectionMatches reports whether a section's pattern means a path below the file's directory. A pattern without a slash means a
// name in any directory, and two stars before other text of a name, as in lib/**.js, mean directories too.
func sectionMatches(pattern, rel string) bool {
	if inner, ok := strings.CutPrefix(pattern, "/"); ok {
		pattern = inner
	} else if !strings.Contains(pattern, "/") {
		pattern = "**/" + strings.ReplaceAll(pattern, "**", "*")
	}
	names := strings.Split(pattern, "/")
	for i, name := range names {
		if rest, ok := strings.CutPrefix(name, "**"); ok && rest != "" {
			names[i] = "**/*" + rest
		}
	}
	pattern = strings.Join(names, "/")
	g, err := glob.Compile(pattern, &glob.Options{Braces: true})
	return err == nil && g.Match(rel)
}
