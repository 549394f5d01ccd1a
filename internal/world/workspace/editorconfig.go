package workspace

import (
	"strings"

	"github.com/haftdev/haft/internal/world/search/glob"
)

// maxEditorConfig is how much of an .editorconfig is read.
const maxEditorConfig = 64 << 10

// editorConfigValue reads one file. top says that no file above it counts.
func editorConfigValue(text, rel, property string) (value string, top bool) {
	applies, preamble := false, true
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' && strings.HasSuffix(line, "]") {
			preamble, applies = false, sectionMatches(line[1:len(line)-1], rel)
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		key, v = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(v)
		switch {
		case !ok:
		case preamble && key == "root":
			top = strings.EqualFold(v, "true")
		case applies && key == property && strings.EqualFold(v, "unset"):
			value = ""
		case applies && key == property:
			value = v
		}
	}
	return value, top
}

// sectionMatches reports whether a section's pattern means a path below the file's directory. A pattern without a slash means a
// name in any directory.
func sectionMatches(pattern, rel string) bool {
	if inner, ok := strings.CutPrefix(pattern, "/"); ok {
		pattern = inner
	} else if !strings.Contains(pattern, "/") {
		pattern = "**/" + strings.ReplaceAll(pattern, "**", "*")
	}
	g, err := glob.Compile(pattern, &glob.Options{Braces: true})
	return err == nil && g.Match(rel)
}
