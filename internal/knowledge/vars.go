package knowledge

import (
	"maps"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/knowledge/prompt"
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

// grants says what the piece would be allowed and run.
func (p Piece) grants() []string {
	var said []string
	say := func(what string, list ...string) {
		if text := strings.Join(list, ", "); text != "" {
			said = append(said, what+": "+text)
		}
	}
	if p.Kind == Agent {
		say("tools", p.Fields.List("tools")...)
		say("mode", p.Fields.Text("permission-mode"))
		return said
	}
	say("allows", p.Fields.List("allowed-tools")...)
	for _, command := range prompt.Parse(p.Body).Commands() {
		say("runs", command)
	}
	return said
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
