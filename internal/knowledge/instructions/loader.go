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

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/frontmatter"
	"github.com/haftdev/haft/internal/knowledge/mention"
	"github.com/haftdev/haft/internal/knowledge/shelf"
	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/settings"
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
	// forFile is set for a rule that waited for a file which was read now.
	forFile bool
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
	if r.forFile {
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
	l.files = append(l.files, File{Path: r.path, Source: r.source, IncludedBy: r.from, Text: text, Cut: file.Cut})
	return true
}

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
