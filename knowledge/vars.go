package knowledge

import (
	"maps"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/knowledge/prompt"
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

// runs returns the texts of the piece that may name files to run.
func (p Piece) runs() []string {
	var pairs []string
	for name, value := range p.Vars(nil) {
		pairs = append(pairs, "${"+name+"}", value, "$"+name, value)
	}
	filled := strings.NewReplacer(pairs...)
	var runs []string
	for _, text := range append(prompt.Parse(p.Body).Commands(), p.Fields.List("allowed-tools")...) {
		runs = append(runs, filled.Replace(text))
	}
	return runs
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
