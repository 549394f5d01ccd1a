package knowledge

import (
	"maps"
	"path/filepath"
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
