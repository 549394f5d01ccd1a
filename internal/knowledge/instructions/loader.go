package instructions

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/frontmatter"
	"github.com/haftdev/haft/internal/knowledge/mention"
	"github.com/haftdev/haft/internal/knowledge/shelf"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// A loader reads the files of one Load.
type loader struct {
	opts      Options
	dir, root string // without links
	home      string
	project   *shelf.Shelf
	left      int64                      // bytes that may still be taken
	full      bool                       // it was said that there is no room for more
	looks     int                        // includes that may still be looked for
	paths     map[string]bool            // files that were looked at, without links
	texts     map[[sha256.Size]byte]bool // what was taken already
	waiting   []rule                     // for files of certain names
	files     []File
	problems  []knowledge.Problem
}

func newLoader(dir, home string, opts *Options) (*loader, error) {
	l := &loader{home: home, looks: maxLooks, paths: map[string]bool{}, texts: map[[sha256.Size]byte]bool{}}
	if opts != nil {
		l.opts = *opts
	}
	if l.opts.MaxFile <= 0 {
		l.opts.MaxFile = maxFile
	}
	if l.opts.MaxTotal <= 0 {
		l.opts.MaxTotal = maxTotal
	}
	l.left = l.opts.MaxTotal
	var err error
	if l.dir, err = real(dir); err != nil {
		return nil, err
	}
	if l.root = l.opts.Root; l.root == "" {
		l.root = findRoot(l.dir)
	} else if l.root, err = real(l.root); err != nil {
		return nil, err
	}
	l.project, err = shelf.Confine(l.root)
	return l, err
}

// findRoot returns the nearest folder with a .git.
func findRoot(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

func (l *loader) wants(s settings.Source) bool {
	return l.opts.Sources == nil || slices.Contains(l.opts.Sources, s)
}

// A request is a file that is to be read.
type request struct {
	path   string
	source settings.Source
	from   string // the file that includes it; "" if none does
	depth  int
	rules  string // the folder whose rule it is; "" if it is none
	// globs are those of a rule that waited for a file which was read now.
	globs []string
}

// load takes a file and what it includes.
func (l *loader) load(r request) {
	path, err := real(r.path)
	if err != nil {
		l.missing(r, err)
		return
	}
	if l.paths[path] {
		return // a circle, or a link to what is there already
	}
	l.paths[path] = true
	if l.excluded(r.path) || l.excluded(path) {
		return
	}
	if r.depth > maxDepth {
		l.report(r.from, "includes %s more than %d levels deep: it is left out", r.path, maxDepth)
		return
	}
	file, err := l.read(r, path)
	if err != nil {
		l.unread(r, err)
		return
	}
	if r.rules != "" && l.waits(r, &file) {
		return
	}
	if r.globs != nil {
		doc, _ := frontmatter.Parse(file.Text) // what is wrong with it was said when it was found
		file.Text = doc.Body
	}
	if !l.take(r, file) {
		return
	}
	for _, included := range mention.Paths(file.Text) {
		if l.looks--; l.looks < 0 {
			l.report(r.path, "mentions too many files: only the first %d mentions are looked up", maxLooks)
			return
		}
		l.load(request{path: l.resolve(included, path), source: r.source, from: r.path, depth: r.depth + 1})
	}
}

// missing reports a file that is not there, if someone meant it to be: most of
// what an @ begins is no path.
func (l *loader) missing(r request, err error) {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		l.unread(r, err)
	case r.from != "" && (strings.HasSuffix(r.path, ".md") || strings.HasSuffix(r.path, ".txt")):
		l.report(r.from, "includes %s, which does not exist", r.path)
	}
}

func (l *loader) unread(r request, err error) {
	if r.from != "" {
		l.report(r.from, "includes %s, which could not be read: %v", r.path, err)
		return
	}
	l.report(r.path, "could not be read: %v", err)
}

var (
	errOutside = errors.New("it is outside the project, which is not trusted to include it")
	errDenied  = errors.New("it may not be shown to a model")
)

// read reads a file of the project through no link that leaves it, and others
// only for who may have them.
func (l *loader) read(r request, path string) (shelf.File, error) {
	own := r.from == "" && r.source == settings.User // a file that the user has put there
	if !own && l.opts.Readable != nil && !l.opts.Readable(path) {
		return shelf.File{}, errDenied
	}
	if rel, ok := pathin.Below(l.root, path); ok {
		return l.project.Read(filepath.ToSlash(rel), l.opts.MaxFile)
	}
	if r.source != settings.User && (l.opts.Trusted == nil || !l.opts.Trusted(r.from, path)) {
		return shelf.File{}, errOutside
	}
	return shelf.Open(filepath.Dir(path)).Read(filepath.Base(path), l.opts.MaxFile)
}

// take adds the text to what there is, as far as there is room.
func (l *loader) take(r request, file shelf.File) bool {
	text := strings.TrimSpace(file.Text)
	sum := sha256.Sum256([]byte(text))
	if text == "" || l.texts[sum] {
		return false
	}
	if l.left <= 0 || len(l.files) == maxFiles {
		if !l.full {
			l.full = true
			l.report(r.path, "is left out, like everything after it: the instructions before it use up all the space")
		}
		return false
	}
	l.texts[sum] = true
	if text = l.withoutRepetition(r.path, text); text == "" {
		return false
	}
	if int64(len(text)) > l.left {
		text, file.Cut = strings.ToValidUTF8(text[:l.left], ""), true
	}
	l.left -= int64(len(text))
	switch {
	case file.Cut:
		text = wholeLines(text)
		l.report(r.path, "is too long: only its first %d of %d bytes are used", len(text), file.Size)
	case len(text) > large:
		l.report(r.path, "has %d bytes, which are sent with every request: move what is rarely needed into skills", len(text))
	}
	if file.Mended {
		l.report(r.path, "is not entirely UTF-8: invalid bytes were replaced")
	}
	l.files = append(l.files, File{Path: r.path, Source: r.source, IncludedBy: r.from, Globs: r.globs, Text: text, Cut: file.Cut})
	return true
}

// withoutRepetition shortens an AGENTS.md to the lines in which it is different from another
// file of its folder, if these are few: many projects keep the same text for several programs.
func (l *loader) withoutRepetition(path, text string) string {
	if filepath.Base(path) != "AGENTS.md" {
		return text
	}
	for _, f := range l.files {
		if filepath.Dir(f.Path) != filepath.Dir(path) || f.Cut {
			continue
		}
		known := make(map[string]bool)
		for line := range strings.Lines(f.Text) {
			known[strings.TrimSpace(line)] = true
		}
		var own []string
		lines := 0
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				lines++
				if !known[line] {
					own = append(own, line)
				}
			}
		}
		switch {
		case len(own) == 0:
			return ""
		case lines >= fewLines && len(own)*10 <= lines:
			return "The same as " + filepath.Base(f.Path) + " beside it, except for these lines:\n" + strings.Join(own, "\n")
		}
	}
	return text
}

// fewLines are as many as are sent twice rather than compared.
const fewLines = 10

// wholeLines takes the beginning of a line off the end.
func wholeLines(text string) string {
	if i := strings.LastIndexByte(text, '\n'); i > 0 {
		return text[:i]
	}
	return text
}

// resolve returns the path that a file means.
func (l *loader) resolve(path, from string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && l.home != "" {
		return filepath.Join(l.home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(from), path)
}

// maxProblems are as many as a user reads.
const maxProblems = 50

func (l *loader) report(path, format string, args ...any) {
	if len(l.problems) == maxProblems {
		return
	}
	l.problems = append(l.problems, knowledge.Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// loadAll takes the user's and those from the root down to dir.
func (l *loader) loadAll() {
	if l.home != "" && l.wants(settings.User) {
		shared := l.opts.Shared
		if shared == "" {
			shared = filepath.Join(l.home, ".claude")
		}
		for _, path := range []string{filepath.Join(l.home, ".haft", "HAFT.md"), filepath.Join(shared, "CLAUDE.md")} {
			l.load(request{path: path, source: settings.User})
		}
		l.loadRules(l.home, filepath.Join(shared, "rules"), settings.User)
	}
	for _, folder := range l.folders(l.dir) {
		l.loadFolder(folder)
	}
}

// loadFolder takes what a folder holds.
func (l *loader) loadFolder(folder string) {
	for _, n := range names {
		if l.wants(n.source) {
			l.load(request{path: filepath.Join(folder, filepath.FromSlash(n.path)), source: n.source})
		}
	}
	if l.wants(settings.Project) && folder != l.home {
		l.loadRules(folder, filepath.Join(folder, ".claude", "rules"), settings.Project)
	}
}

func (l *loader) close() { l.project.Close() }

// folders are those from the root down to dir, which has no links in it.
func (l *loader) folders(dir string) []string {
	folders := []string{l.root}
	rel, ok := pathin.Below(l.root, dir)
	if !ok || rel == "" {
		return folders
	}
	at := l.root
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		folders = append(folders, at)
	}
	return folders
}

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
		w.globs = w.patterns
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

// real returns a path without links.
func real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path, err = filepath.EvalSymlinks(path)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) {
		return "", fs.ErrNotExist
	}
	return path, err
}
