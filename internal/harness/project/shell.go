package project

import (
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/shell"
)

// Environment is that of this process with what the settings add, and the names
// of it that shell commands inherit beside the usual ones.
func (p *Project) Environment() (environ, pass []string) {
	environ, pass = os.Environ(), []string{"CLAUDE_CODE_ENTRYPOINT"}
	for _, v := range p.Counts.Env() {
		environ = append(environ, v.Name+"="+v.Text.Text)
		pass = append(pass, v.Name)
	}
	for _, name := range p.Counts.PassEnv() {
		pass = append(pass, name.Text)
	}
	return environ, pass
}

// ReadOnly reports whether a command was shown to change nothing.
func (p *Project) ReadOnly(command, dir string) bool {
	return shell.Analyze(command, p.shellOptions(dir)).ReadOnly
}

// Writes returns the absolute paths that a command is known to write.
func (p *Project) Writes(command, dir string) (paths []string) {
	for _, w := range shell.Analyze(command, p.shellOptions(dir)).Writes {
		path := w.Value
		if !filepath.IsAbs(path) && w.Cwd != "" {
			path = filepath.Join(w.Cwd, path)
		}
		if !w.Dynamic && w.Pattern == "" && filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Hardening is the environment in which that holds.
func (p *Project) Hardening(dir string) []string {
	env, _ := shell.Hardening(p.shellOptions(dir))
	return env
}

func (p *Project) shellOptions(dir string) *shell.Options {
	environ, _ := p.Environment()
	return &shell.Options{Cwd: dir, Home: p.Home, Roots: p.Guard.Roots(), Kept: p.Kept.Holds, FS: shell.OS{}, Environ: environ}
}
