package ignore

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// Dir holds the rules in force in one directory. Directories without rules of
// their own share their parent's. Rule files are read when they are first needed,
// which in directories where nothing is asked about is never.
type Dir struct {
	parent  *Dir
	path    string // with a trailing slash
	marks   Marks
	inRepo  bool   // here or above
	global  Global // the user's, the same everywhere
	load    sync.Once
	rg      *Rules // .rgignore
	ignore  *Rules // .ignore
	git     *Rules // .gitignore
	exclude *Rules // info/exclude of the repository here
}

// Marks are the entries of a directory that matter to the rules, found while
// listing it.
type Marks uint8

const (
	HasGit Marks = 1 << iota
	HasGitIgnore
	HasIgnore
	HasRgIgnore
)

// MarkOf gives the mark of a directory entry, 0 for all but four names.
func MarkOf(name string) Marks {
	if len(name) < 4 || name[0] != '.' {
		return 0
	}
	switch name {
	case ".git":
		return HasGit
	case ".gitignore":
		return HasGitIgnore
	case ".ignore":
		return HasIgnore
	case ".rgignore":
		return HasRgIgnore
	}
	return 0
}

// Root gives the rules in force above dir, an absolute path, for use as the parent
// in the walk's first Child. sources lists every path that was consulted, present
// or not: the rules are current as long as none of these and of g's changes.
func Root(dir string, g Global) (d *Dir, sources []string) {
	d = &Dir{path: "/", global: g}
	var parents []string
	for p := filepath.Dir(dir); ; p = filepath.Dir(p) {
		parents = append(parents, p)
		if p == filepath.Dir(p) {
			break
		}
	}
	if dir == filepath.Dir(dir) {
		parents = nil
	}
	for i := len(parents) - 1; i >= 0; i-- {
		p := parents[i]
		var marks Marks
		for _, name := range []string{".git", ".gitignore", ".ignore", ".rgignore"} {
			path := filepath.Join(p, name)
			sources = append(sources, path)
			if _, err := rawfs.Lstat(path); err == nil {
				marks |= MarkOf(name)
			}
		}
		d = d.Child(p, marks)
		if marks&HasGit != 0 {
			sources = append(sources, ExcludeFile(p))
		}
	}
	return d, sources
}

// Child gives the rules in force in the directory path, whose entries show marks.
func (d *Dir) Child(path string, marks Marks) *Dir {
	if marks == 0 {
		return d
	}
	return &Dir{parent: d, path: withSlash(path), marks: marks, inRepo: d.inRepo || marks&HasGit != 0, global: d.global}
}

// read reads the rule files of d itself.
func (d *Dir) read() {
	if d.marks&HasRgIgnore != 0 {
		d.rg = parseFile(d.path + ".rgignore")
	}
	if d.marks&HasIgnore != 0 {
		d.ignore = parseFile(d.path + ".ignore")
	}
	if d.marks&HasGitIgnore != 0 {
		d.git = parseFile(d.path + ".gitignore")
	}
	if d.marks&HasGit != 0 {
		d.exclude = parseFile(ExcludeFile(filepath.Clean(d.path)))
	}
}

func withSlash(p string) string {
	if strings.HasSuffix(p, "/") {
		return p
	}
	return p + "/"
}

// maxRules bounds a rule file; what is larger was not written as one.
const maxRules = 4 << 20

func parseFile(path string) *Rules {
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxRules {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return Parse(text)
}

// Match decides an entry given by its absolute path.
func (d *Dir) Match(path string, isDir bool) Verdict {
	var rg, ignore, git, exclude, global Verdict
	sawRepo := false
	for n := d; n != nil; n = n.parent {
		n.load.Do(n.read)
		rel := path[len(n.path):]
		if rg == None {
			rg = n.rg.Match(rel, isDir)
		}
		if ignore == None {
			ignore = n.ignore.Match(rel, isDir)
		}
		if !d.inRepo || sawRepo {
			continue
		}
		if git == None {
			git = n.git.Match(rel, isDir)
		}
		if n.marks&HasGit != 0 {
			exclude = n.exclude.Match(rel, isDir)
			global = n.global.excludes().rules.Match(rel, isDir)
			sawRepo = true
		}
	}
	for _, v := range []Verdict{rg, ignore, git, exclude} {
		if v != None {
			return v
		}
	}
	return global
}
