package guard

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Secrets returns the files and folders that must not be read, whether they exist
// or not: for a sandbox, which hides them from commands. A folder in which some
// files may be read is listed by its other files, and so are patterns: listed are
// the folders whose files were.
func (g *Guard) Secrets() (paths, listed []string) {
	for _, m := range compiled() {
		if m.what.Read != Deny {
			continue
		}
		for _, base := range m.bases(g.home) {
			of, folder := g.secretsOf(m, base)
			paths = append(paths, of...)
			if folder != "" {
				listed = append(listed, folder)
			}
		}
	}
	slices.Sort(paths)
	slices.Sort(listed)
	return slices.Compact(paths), slices.Compact(listed)
}

// bases are where a rule that is anchored begins.
func (m *matcher) bases(home []string) []string {
	switch {
	case m.home:
		return home
	case m.absolute:
		return []string{string(filepath.Separator)}
	}
	return nil
}

// secretsOf returns what a rule is about, and the folder that was listed for it.
func (g *Guard) secretsOf(m matcher, base string) (paths []string, listed string) {
	parts := m.parts
	last := parts[len(parts)-1]
	folder := filepath.Join(base, filepath.Join(parts...))
	switch {
	case strings.Contains(last, "*"):
		folder = filepath.Dir(folder)
	case !m.deep || !m.hasExceptions():
		return []string{folder}, ""
	}
	entries, _ := g.fs.ReadDir(folder) // what is not there has nothing to hide
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if g.lookUp(path).Read == Deny {
			paths = append(paths, path)
		}
	}
	return paths, folder
}

// hasExceptions reports whether another rule lets files of the folder be read.
func (m *matcher) hasExceptions() bool {
	return slices.ContainsFunc(compiled(), func(o matcher) bool {
		return o.what.Read != Deny && o.home == m.home && o.absolute == m.absolute && (m.home || m.absolute) &&
			len(o.parts) > len(m.parts) && slices.Equal(o.parts[:len(m.parts)], m.parts)
	})
}

// Protected returns the files and folders of the roots whose change can run
// programs or grant permissions, whether they exist or not: for a sandbox, which
// lets no command write them. A repository works without its settings and hooks
// being written.
func (g *Guard) Protected() []string {
	paths := slices.Clone(g.hooks)
	for _, r := range g.roots {
		repository := filepath.Join(r.real, ".git")
		if g.is(repository, fs.ModeDir) {
			paths = append(paths, filepath.Join(repository, "config"), filepath.Join(repository, "hooks"), filepath.Join(repository, "info", "attributes"))
		}
		for _, m := range compiled() {
			if m.home || m.absolute || m.what.Write == Allow || !slices.Contains(takingOver, m.what.What) || strings.Contains(strings.Join(m.parts, "/"), "*") {
				continue
			}
			paths = append(paths, filepath.Join(r.real, filepath.Join(m.parts...)))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// takingOver are the kinds of files by which a command would run others later.
var takingOver = []string{whatAgent, whatEditor, whatHooks, whatShell}
