package knowledge

import (
	"maps"
	"path/filepath"
	"strings"
)

// Vars returns what stands for what in the piece's text, beside what is given.
func (p Piece) Vars(given map[string]string) map[string]string {
	vars := map[string]string{}
	for _, prefix := range []string{"CLAUDE_", "HAFT_"} {
		if p.Kind == Skill {
			vars[prefix+"SKILL_DIR"] = filepath.Dir(p.Path)
		}
		if p.Plugin != "" {
			vars[prefix+"PLUGIN_ROOT"] = p.PluginDir
		}
	}
	maps.Copy(vars, given)
	return vars
}

// FirstParagraph is what a text says about itself if it has no description: its
// first lines that are no heading.
func FirstParagraph(body string) string {
	var lines []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		switch {
		case line != "" && !strings.HasPrefix(line, "#"):
			lines = append(lines, line)
		case len(lines) > 0:
			return strings.Join(lines, " ")
		}
	}
	return strings.Join(lines, " ")
}
