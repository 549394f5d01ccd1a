package project

import (
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/shell"
)

// A Shell is what shell commands of a project inherit, and what they are known to do.
type Shell struct {
	Environ []string // of this process, with what the settings add
	Pass    []string // names of it that commands inherit beside the usual ones
	options shell.Options
}

// Shell reads what the settings say about commands.
func (p *Project) Shell() *Shell {
	s := &Shell{Environ: p.environ(), Pass: []string{"CLAUDE_CODE_ENTRYPOINT"}}
	for _, v := range p.Counts.Env() {
		s.Pass = append(s.Pass, v.Name)
	}
	for _, name := range p.Counts.PassEnv() {
		s.Pass = append(s.Pass, name.Text)
	}
	s.options = shell.Options{Home: p.Home, Roots: p.Guard.Roots(), Kept: p.Kept.Holds, FS: shell.OS{}, Environ: s.Environ}
	return s
}

// ReadOnly reports whether a command was shown to change nothing.
func (s *Shell) ReadOnly(command, dir string) bool {
	return shell.Analyze(command, s.in(dir)).ReadOnly
}

// Writes returns the absolute paths that a command is known to write.
func (s *Shell) Writes(command, dir string) (paths []string) {
	for _, w := range shell.Analyze(command, s.in(dir)).Writes {
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

// OnlyWrites returns the absolute paths that a command changes, if it was shown to do
// nothing else.
func (s *Shell) OnlyWrites(command, dir string) (paths []string, ok bool) {
	found := shell.Analyze(command, s.in(dir))
	if !found.Exact || found.Critical != "" || len(found.Allow) == 0 {
		return nil, false
	}
	writes := found.Writes
	for _, c := range found.Allow {
		if !c.Edit || len(c.Assigns) > 0 || c.More {
			return nil, false
		}
		writes = append(slices.Clip(writes), c.Edits...)
	}
	for _, w := range writes {
		path := w.Value
		if !filepath.IsAbs(path) && w.Cwd != "" {
			path = filepath.Join(w.Cwd, path)
		}
		if w.Dynamic || w.Pattern != "" || !filepath.IsAbs(path) {
			return nil, false
		}
		paths = append(paths, path)
	}
	return paths, true
}

// Plain is the environment in which that holds, nil if it was not shown; and the words of
// a command that needs no shell.
func (s *Shell) Plain(command, dir string) (env, words []string) {
	in := s.in(dir)
	in.FS = shell.Snapshot(in.FS)
	found := shell.Analyze(command, in)
	if !found.ReadOnly {
		return nil, nil
	}
	env, _ = shell.Hardening(in)
	return env, found.Words
}

func (s *Shell) in(dir string) *shell.Options {
	o := s.options
	o.Cwd = dir
	return &o
}
