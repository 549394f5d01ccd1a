// Package scope holds what the search tools share: where a search happens, how
// paths are shown, and the words for what a search covered and what it left out.
// A Scope is a plain value and safe for concurrent use.
package scope

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/tool"
)

// Scope is the place of one call.
type Scope struct {
	Dir   string                 // the working directory
	Path  string                 // what is searched, absolute
	Allow func(path string) bool // which files may be named; nil: all
}

// resolve resolves the path of a call against dir; empty means dir itself.
func resolve(dir, path string, allow func(string) bool) Scope {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return Scope{dir, filepath.Clean(path), allow}
}

// Reads is what a call searches, whose input names path or nothing.
func Reads(path string) tool.Paths {
	if path == "" {
		path = "."
	}
	return tool.Paths{Reads: []string{path}}
}

// Options are what a search tool needs of the world.
type Options struct {
	// Searcher answers; its owner closes it. Nil means one without memory, which
	// nobody has to close.
	Searcher *search.Searcher
	// Dir gives the working directory of calls that say none. Nil means that of this
	// process.
	Dir func() string
	// Allow reports whether a file may be read and named. Nil means that all may.
	// It must be safe for concurrent use.
	Allow func(path string) bool
	// Show reports whether what is in a file may be shown although the call does not name
	// it. Nil means whatever Allow allows. It must be safe for concurrent use.
	Show func(path string) bool
}

// OrDefault returns the options with what they leave open filled in; o may be nil.
func (o *Options) OrDefault() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Searcher == nil {
		full.Searcher = search.New(&search.Options{Stateless: true})
	}
	if full.Dir == nil {
		full.Dir = workingDir
	}
	return full
}

// At is the place of a call: where its agent works.
func (o Options) At(c *tool.Call, path string) Scope {
	dir := c.Dir
	if dir == "" {
		dir = o.Dir()
	}
	return resolve(dir, path, o.Allow)
}

// Contents is [Options.At] for a tool that shows what is in files. A file that the call
// names was judged with the call; of others only those are shown that Show allows.
func (o Options) Contents(c *tool.Call, path string) Scope {
	s := o.At(c, path)
	if o.Show == nil {
		return s
	}
	named, err := filepath.EvalSymlinks(s.Path)
	if err != nil {
		named = s.Path
	}
	s.Allow = func(file string) bool {
		return (file == named || file == s.Path || o.Show(file)) && (o.Allow == nil || o.Allow(file))
	}
	return s
}

// workingDir is that of this process.
func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return "/"
	}
	return dir
}

// Show gives a path as the model should see it: relative where that is shorter,
// quoted where it would break a line or is not text.
func (s Scope) Show(path string) string {
	if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(s.Dir, "/")+"/"); ok {
		path = rel
	}
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// Error turns an error of package search into one for the model, as far as the
// model can do something about it.
func (s Scope) Error(err error) error {
	var path *fs.PathError
	switch {
	case !errors.As(err, &path):
		return err // of the context, or a mistake of ours
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf("Path does not exist: %s.%s The working directory is %s.", s.Show(path.Path), s.similar(path.Path), s.Dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, search.ErrDenied):
		return tool.Errorf("%s may not be read. Search another path.", s.Show(path.Path))
	}
	return tool.Errorf("%s cannot be searched: %w.", s.Show(path.Path), path.Err)
}

// similar names entries that may be meant instead of a missing one.
func (s Scope) similar(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if s.Allow == nil || s.Allow(filepath.Join(filepath.Dir(path), e.Name())) {
			names = append(names, e.Name())
		}
	}
	found := near.Names(filepath.Base(path), names, 3)
	if len(found) == 0 {
		return ""
	}
	for i, n := range found {
		found[i] = s.Show(filepath.Join(filepath.Dir(path), n))
	}
	return " Did you mean " + strings.Join(found, " or ") + "?"
}

// Note says what a search covered and how to reach what it did not. It is empty when
// there are results and none can be missing: what ignore rules hide is told where
// nothing was found.
func (s Scope) Note(results int, st search.Stats, partial string) string {
	if partial != "" {
		return "The search stopped at its limit for " + budget(partial) + ", so the results are not complete. Narrow the search to see the rest."
	}
	left := unread(st)
	if results == 0 {
		parts := append(hidden(st), left...)
		note := "Searched " + plural.Forms(st.Scanned-st.Denied, "file", "files") + " in " + s.Path + "."
		if len(parts) > 0 {
			note += " Left out: " + strings.Join(parts, ", ") + "."
		}
		return note
	}
	if len(left) > 0 {
		return "Left out: " + strings.Join(left, ", ") + "."
	}
	return ""
}

// Sentence writes an error as a sentence, with a capital letter and an end.
func Sentence(text string) string {
	text = strings.ToUpper(text[:1]) + text[1:]
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

func budget(partial string) string {
	switch partial {
	case "time":
		return "time"
	case "files":
		return "the number of files"
	case "bytes":
		return "the amount of text"
	}
	return partial
}

// hidden lists what ignore rules and links keep from a search, with the way to reach it.
func hidden(st search.Stats) (parts []string) {
	ignored := add(nil, st.Tree.IgnoredFiles, "file", "files")
	ignored = add(ignored, st.Tree.IgnoredDirs, "directory", "directories")
	if len(ignored) > 0 {
		parts = append(parts, strings.Join(ignored, " and ")+" hidden by ignore rules (set path to one to search it)")
	}
	return add(parts, st.Tree.Links, "symbolic link", "symbolic links")
}

// unread lists what could not be searched.
func unread(st search.Stats) (parts []string) {
	parts = add(parts, st.Binary, "binary file that matches", "binary files that match")
	parts = add(parts, st.TooLarge, "file that is too large", "files that are too large")
	return add(parts, st.Unreadable+st.Tree.Unreadable, "entry that cannot be read", "entries that cannot be read")
}

func add(list []string, n int, one, many string) []string {
	if n == 0 {
		return list
	}
	return append(list, plural.Forms(n, one, many))
}
