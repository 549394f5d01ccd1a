package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/secret"
)

var (
	// innocents stand for what patterns are meant for: one that also matches
	// such a name aims at no credential.
	innocents = strings.Fields(`main.go readme.md package.json config.yaml config.yml config.toml config a.txt x.env.example index.ts app.js style.css notes args src docker-compose.yml dockerfile data.db setup.cfg page.php
		monitor.log lib.a main.c test.py build.sh image.png`)

	plainProc = set(`/proc/cpuinfo /proc/meminfo /proc/version /proc/loadavg /proc/uptime /proc/mounts /proc/filesystems /proc/stat /proc/partitions /proc/cmdline /proc/swaps /proc/diskstats
		/proc/devices /proc/modules /proc/vmstat /proc/interrupts /proc/net/dev /proc/net/tcp /proc/net/route /proc/self/mounts /proc/self/status /proc/self/limits /proc/self/cgroup`)
	plainDev = set(`/dev/null /dev/stdin /dev/fd/0 /dev/fd/` + unknown)
)

// set returns names for looking up.
func set(names string) map[string]bool {
	s := map[string]bool{}
	for _, name := range strings.Fields(names) {
		s[name] = true
	}
	return s
}

// sensitive returns why a file must not be read unasked, "" if it may. The
// shape has unknown parts and, if it is a pattern, wildcards. Commands that
// read whole trees must not be given one that contains the home directory.
func (a *analyzer) sensitive(shape string, loose, tree bool) string {
	if !loose && a.kept(shape) {
		return ""
	}
	clean := path.Clean(strings.ToLower(shape))
	if strings.HasPrefix(clean, "//") {
		clean = clean[1:]
	}
	full := clean
	if !strings.HasPrefix(clean, "/") && len(a.dirs) == 1 && strings.HasPrefix(a.dirs[0], "/") && !strings.HasPrefix(clean, unknown) && !strings.HasPrefix(clean, "~") {
		full = path.Join(strings.ToLower(a.dirs[0]), clean)
	}
	if a.secret(full, clean) || loose && aimsAtSecret(clean) || tree && a.holdsHome(full) {
		return fmt.Sprintf("%s may contain credentials", strings.ReplaceAll(shape, unknown, "…"))
	}
	if !loose && a.linksToSecret(shape) {
		return fmt.Sprintf("%s is a link to a file that may contain credentials", shape)
	}
	return ""
}

// kept reports whether a path is, from wherever the command may be, what the session has kept for its model.
func (a *analyzer) kept(name string) bool {
	if a.opts.Kept == nil || a.opts.FS == nil || strings.Contains(name, unknown) || len(a.dirs) == 0 {
		return false
	}
	return !slices.ContainsFunc(a.dirs, func(dir string) bool {
		real, err := a.opts.FS.EvalSymlinks(join(dir, name))
		return err != nil || !a.opts.Kept(real)
	})
}

// linksToSecret follows the symbolic links in a path.
func (a *analyzer) linksToSecret(name string) bool {
	if a.opts.FS == nil {
		return false
	}
	return slices.ContainsFunc(a.dirs, func(dir string) bool {
		full := join(dir, name)
		if !strings.HasPrefix(full, "/") {
			return false
		}
		real, err := a.opts.FS.EvalSymlinks(full)
		return err == nil && a.secret(strings.ToLower(real), "")
	})
}

// secret reports whether a path in lower case must not be read unasked: it is on the one list of secrets, or lies where
// settings, histories and caches of programs are, or where the kernel shows processes and devices. As spelled is what names
// count in where the path is outside the project; "" means all of it.
func (a *analyzer) secret(full, spelled string) bool {
	return a.hiddenPlace(full) || a.onList(full, spelled)
}

func (a *analyzer) hiddenPlace(p string) bool {
	switch {
	case p == "/proc" || strings.HasPrefix(p, "/proc/"):
		return !plainProc[p]
	case strings.HasPrefix(p, "/dev/"):
		return !plainDev[p]
	case p == "/dev" || p == "/sys":
		return false
	case strings.HasPrefix(p, "/sys/"):
		return !strings.HasPrefix(p, "/sys/class/") && !strings.HasPrefix(p, "/sys/devices/system/")
	}
	below, ok := a.belowHome(p)
	return ok && strings.HasPrefix(below, ".") && !(strings.HasPrefix(p, "/") && a.inside(p))
}

// onList looks a path up in the list of secrets.
func (a *analyzer) onList(full, spelled string) bool {
	names := secret.Where{Roots: a.lowerRoots()}.Names(full)
	if below, ok := a.belowHome(full); ok {
		names.Below = [][]string{secret.Fold(below)}
	}
	if spelled != "" && len(names.Inside) == len(names.All) {
		names.Inside = secret.Fold(spelled)
	}
	return names.Look().Level != secret.Open
}

// lowerRoots are the folders of the project as paths are compared here.
func (a *analyzer) lowerRoots() []string {
	roots := make([]string, len(a.opts.Roots))
	for i, root := range a.opts.Roots {
		roots[i] = strings.ToLower(root)
	}
	return roots
}

// belowHome returns a path relative to what is or may be a home directory.
func (a *analyzer) belowHome(p string) (string, bool) {
	if home := strings.ToLower(a.opts.Home); home != "" {
		if rest, ok := strings.CutPrefix(p, home+"/"); ok {
			return rest, true
		}
	}
	for _, prefix := range []string{"~/", unknown + "/"} {
		if rest, ok := strings.CutPrefix(p, prefix); ok {
			return rest, true
		}
	}
	for _, top := range []string{"/home/", "/users/"} {
		if rest, ok := strings.CutPrefix(p, top); ok {
			_, rest, ok = strings.Cut(rest, "/")
			return rest, ok
		}
	}
	return strings.CutPrefix(p, "/root"+"/")
}

// holdsHome reports whether a tree contains a home directory.
func (a *analyzer) holdsHome(p string) bool {
	home := strings.ToLower(a.opts.Home)
	return p == "/" || p == "/home" || p == "/root" || p == "/users" || p == "/etc" || p == "~" || home != "" && pathin.Contains(p, home)
}

// aimsAtSecret reports whether a pattern in a path may stand for a secret.
func aimsAtSecret(p string) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool {
		return strings.ContainsAny(part, "*?["+unknown) && reachesSecret(part)
	})
}

// reachesSecret reports whether a pattern matches a name of credentials. One
// that begins with a wildcard and matches other names as well, as * does, aims
// at nothing.
func reachesSecret(pattern string) bool {
	pattern = strings.ReplaceAll(pattern, unknown, "*")
	if strings.IndexAny(pattern, "*?[") == 0 && matchesAny(pattern, innocents) {
		return false
	}
	return matchesAny(pattern, secret.Samples())
}

// matchesAny takes a pattern that cannot be read for one that matches.
func matchesAny(pattern string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		ok, err := path.Match(pattern, name)
		return ok || err != nil
	})
}
