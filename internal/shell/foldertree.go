package shell

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell/grammar"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// maxTree bounds the files of a folder that is looked through before commands may
// be given the names in it.
const maxTree = 100_000

// A tree is what a folder and all below it hold that a command must not be led to.
type tree struct {
	above   bool // it holds the project or the home directory, and was not looked through
	large   bool
	links   []string // those that stay inside
	leaving []string // links to something outside the project, or to a credential
	secret  []string // files that hold credentials, by their names
	odd     []string // names that become several words, or a flag
}

// tree looks through a folder, once.
func (a *analyzer) tree(dir string) *tree {
	if t := a.trees[dir]; t != nil {
		return t
	}
	t := &tree{}
	if a.trees == nil {
		a.trees = map[string]*tree{}
	}
	a.trees[dir] = t
	if t.above = a.above(dir); t.above {
		return t
	}
	left := maxTree
	a.lookThrough(t, dir, "", &left)
	return t
}

// above reports whether a folder holds more than the project. To look through all of it
// would take longer than anybody waits for a verdict.
func (a *analyzer) above(dir string) bool {
	holds := func(inner string) bool {
		return inner != "" && pathin.Contains(dir, inner) && !pathin.Contains(inner, dir)
	}
	return dir == "/" || holds(a.opts.Home) || slices.ContainsFunc(a.opts.Roots, holds)
}

func (a *analyzer) lookThrough(t *tree, dir, rel string, left *int) {
	entries, err := a.opts.FS.ReadDir(path.Join(dir, rel))
	if err != nil {
		return // what cannot be read cannot be read by the command either
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			t.large = true
			return
		}
		name := path.Join(rel, e.Name())
		if strings.ContainsAny(e.Name(), " \t\n\r\\'\"") || strings.HasPrefix(e.Name(), "-") {
			t.odd = append(t.odd, name)
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if a.leaves(path.Join(dir, name)) {
				t.leaving = append(t.leaving, name)
			} else {
				t.links = append(t.links, name)
			}
		case e.IsDir():
			a.lookThrough(t, dir, name, left)
		case a.holdsSecret(path.Join(dir, name)):
			t.secret = append(t.secret, name)
		}
	}
}

// holdsSecret judges a file that a walk meets. The configuration of a repository is
// everywhere, and only one with a password in an address is a secret.
func (a *analyzer) holdsSecret(file string) bool {
	lower := strings.ToLower(file)
	if strings.HasSuffix(lower, "/.git/config") {
		data, err := a.opts.FS.ReadFile(file)
		return err != nil || passwordInURL(string(data))
	}
	return a.secret(lower, "")
}

// passwordInURL reports whether a text holds an address with a password, or a
// header that authorizes.
func passwordInURL(s string) bool {
	for rest := s; ; {
		_, after, ok := strings.Cut(rest, "://")
		if !ok {
			return strings.Contains(strings.ToLower(s), "extraheader") || strings.Contains(strings.ToLower(s), "token")
		}
		host, _, _ := strings.Cut(after, "/")
		host, _, _ = strings.Cut(host, "\n")
		if user, _, ok := strings.Cut(host, "@"); ok && user != "git" {
			return true
		}
		rest = after
	}
}

// leaves reports whether a link leads out of the project or to a credential. One
// that leads nowhere leads to nothing that could be read.
func (a *analyzer) leaves(link string) bool {
	real, err := a.opts.FS.EvalSymlinks(link)
	if err != nil {
		return false
	}
	lower := strings.ToLower(real)
	return !a.insideReal(real) && !installed(real) || a.secret(lower, "")
}

// installed reports whether a path is of the system, which everyone may read.
func installed(p string) bool {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"} {
		if pathin.Contains(dir, p) {
			return true
		}
	}
	return p == "/dev/null"
}

// trouble returns why the names that a listing prints may do harm.
func (t *tree) trouble(l listing) string {
	if t.above {
		return "the folder contains more than the project"
	}
	if t.large {
		return "the folder is too large to check for links that leave it"
	}
	for _, name := range t.leaving {
		if l.covers(name) || strings.Contains(name, "/") && l.links {
			return fmt.Sprintf("%s is a link that leaves the project or leads to credentials", name)
		}
	}
	for _, name := range t.secret {
		if l.covers(name) {
			return fmt.Sprintf("%s may contain credentials", name)
		}
	}
	for _, name := range t.odd {
		if !l.null {
			return fmt.Sprintf("the name %q could expand to several words or a flag", name)
		}
	}
	return ""
}

// shown returns why a program must not show all that is below the folder.
func (t *tree) shown(l listing, use grammar.Use) string {
	if t.above {
		return "the folder contains more than the project"
	}
	if t.large && use.Follows {
		return "the folder is too large to check for links that leave it"
	}
	for _, name := range t.leaving {
		if use.Follows {
			return fmt.Sprintf("%s is a link that leaves the project or leads to credentials", name)
		}
	}
	if names := t.secrets(l, use); len(names) > 0 {
		return fmt.Sprintf("%s in it may contain credentials; Grep leaves it out", names[0])
	}
	return ""
}

// secrets returns the files with credentials that a program would show.
func (t *tree) secrets(l listing, use grammar.Use) (names []string) {
	for _, name := range t.secret {
		if hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/."); l.covers(name) && (use.Hidden || !hidden) {
			names = append(names, name)
		}
	}
	return names
}
