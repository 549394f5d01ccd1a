package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// plainPlaces are variables that say where something is, and by which no program is made to run or to load anything.
var plainPlaces = set(`PWD OLDPWD INIT_CWD HOME PATH TMPDIR TMP TEMP GOPATH GOCACHE GOMODCACHE VIRTUAL_ENV CLAUDE_PROJECT_DIR`)

// namesProject returns the variables of an environment that name something in the project, as NAME= to unset them. A compiler
// (CC), a configuration (GIT_CONFIG_GLOBAL, KUBECONFIG, XDG_CONFIG_HOME) or a library (LD_PRELOAD) that a session inherited
// would otherwise be one that the project can write, as an entry of PATH would.
func namesProject(opts *Options) []string {
	var unset []string
	for _, v := range opts.Environ {
		name, value, _ := strings.Cut(v, "=")
		if !plainPlaces[name] && slices.ContainsFunc(pathsIn(value), func(p string) bool { return inProject(p, opts) }) {
			unset = append(unset, name+"=")
		}
	}
	return unset
}

// pathsIn returns the parts of a value that may be paths.
func pathsIn(value string) []string {
	parts := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n:;,='\"|()@", r) })
	return slices.DeleteFunc(append(parts, value), func(p string) bool { return !strings.Contains(p, "/") })
}

// inProject reports whether a path is in the project, or depends on the directory that a command runs in.
func inProject(p string, opts *Options) bool {
	if !filepath.IsAbs(p) {
		return strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../")
	}
	real, err := opts.FS.EvalSymlinks(filepath.Clean(p))
	return slices.ContainsFunc(opts.Roots, func(root string) bool {
		return pathin.Contains(root, filepath.Clean(p)) || err == nil && pathin.Contains(root, real)
	})
}
