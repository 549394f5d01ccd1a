package instructions

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/haftdev/haft/internal/knowledge/frontmatter"
	"github.com/haftdev/haft/internal/knowledge/shelf"
	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/settings"
)

// maxRules are as many as are looked at in one folder.
const maxRules = 200

// A rule is a file of instructions that waits for a file it is for.
type rule struct {
	request
	base     string // the folder that its patterns begin in
	patterns []string
}

// loadRules takes the rules in a folder, where a project or a user keeps instructions by
// topic. A rule whose front matter has paths is for files of these names below base, and
// waits until one is first read.
func (l *loader) loadRules(base, dir string, source settings.Source) {
	var files []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // there are no rules, or not in this folder
		}
		if !d.IsDir() && filepath.Ext(path) == ".md" {
			if len(files) == maxRules {
				l.report(dir, "has more than %d rules: the rest are left out", maxRules)
				return fs.SkipAll
			}
			files = append(files, path)
		}
		return nil
	})
	for _, path := range files {
		l.load(request{path: path, source: source, rules: base})
	}
}

// waits reports whether a rule is for certain files only, and keeps it for them. What its
// front matter says is not shown to the model.
func (l *loader) waits(r request, file *shelf.File) bool {
	doc, err := frontmatter.Parse(file.Text)
	if err != nil {
		l.report(r.path, "%v", err)
	}
	file.Text = doc.Body
	patterns := doc.Fields.List("paths")
	if len(patterns) == 0 {
		return false
	}
	w := rule{request: r, base: r.rules}
	w.rules = ""
	for _, p := range patterns {
		if p = strings.TrimPrefix(p, "./"); !doublestar.ValidatePattern(p) {
			l.report(r.path, "has an invalid pattern under paths: %q", p)
			continue
		}
		w.patterns = append(w.patterns, p)
	}
	l.waiting = append(l.waiting, w)
	return true
}

// loadWaiting takes the rules that are for a file.
func (l *loader) loadWaiting(file string) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w rule) bool {
		rel, ok := pathin.Below(w.base, file)
		if w.source == settings.User { // a user's own begin in the project
			rel, ok = pathin.Below(l.root, file)
		}
		if !ok || !slices.ContainsFunc(w.patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, filepath.ToSlash(rel)) }) {
			return false
		}
		path, err := real(w.path)
		if err == nil {
			delete(l.paths, path)
		}
		w.forFile = true
		l.load(w.request)
		return true
	})
}

// excluded reports whether the settings leave a file out.
func (l *loader) excluded(path string) bool {
	return slices.ContainsFunc(l.opts.Excludes, func(pattern string) bool {
		return doublestar.MatchUnvalidated(filepath.ToSlash(pattern), filepath.ToSlash(path))
	})
}
