package trust

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/pathin"
)

// Named returns the files of the project that a value of the settings names to be run: a
// command, or an object with a command such as that of an MCP server. One that does not exist
// yet is among them if it is named as a path. They are absolute, and some may lie elsewhere.
func (f *Folder) Named(value json.RawMessage) []string {
	return f.run(value, func(program string) bool { return !slices.Contains(scriptRunners, program) })
}

// Runs returns the files of Named, and those by which a program finds out what to run, such as
// Cargo.toml.
func (f *Folder) Runs(value json.RawMessage) []string {
	return f.run(value, func(program string) bool { return slices.Contains(fetchers, program) })
}

func (f *Folder) run(value json.RawMessage, skips func(program string) bool) []string {
	h := f.newHasher()
	defer h.close()
	h.budget, h.skips = 0, skips // what is in the files does not matter
	decoded := decode(value)
	command, _ := decoded.(string)
	if object, ok := decoded.(map[string]any); ok {
		command = commandLine(decoded)
		if dir, _ := object["cwd"].(string); dir != "" {
			h.project = f.resolve(dir)
		}
	}
	files := make(map[string]string)
	h.bind(command, files)
	var out []string
	for name := range files {
		if !strings.HasPrefix(name, "$") {
			out = append(out, filepath.Join(h.base, name))
		}
	}
	for _, text := range stringsIn(decoded) {
		for _, path := range paths(text, h.project) {
			info, err := os.Stat(path)
			rel, below := pathin.Below(h.base, path)
			if err == nil && info.Mode().IsRegular() || err != nil && below && strings.Contains(rel, string(filepath.Separator)) {
				out = append(out, path)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
