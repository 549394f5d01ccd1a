package preview

import (
	"path/filepath"
	"slices"
	"strings"
)

// AllCaches are patterns for names of files and folders, anywhere, that programs expect to be
// deleted at any time, and the caches in a home folder; "" means that there is none.
func AllCaches(home string) []string {
	all := append(slices.Clone(cacheNames), "hsperfdata_*", "node-compile-cache", "v8-compile-cache*", "jest_*")
	for _, name := range HomeCaches() {
		if home != "" {
			all = append(all, filepath.Join(home, name))
		}
	}
	return all
}

// HomeCaches are folders below the home folder that programs write while they do what
// they were asked for: what they can make again, and counts of their use.
func HomeCaches() []string {
	return strings.Fields(`.cache .npm .cargo .rustup .gradle .m2 .nuget .dotnet .yarn .pnpm-store .local/share/pnpm .local/state .bun .deno .ivy2 .sbt .stack
		.cabal .pub-cache .composer .bundle .gem .ipython .matplotlib .node-gyp .terraform.d .config/go .config/configstore go/pkg Library/Caches`)
}

// cacheNames are folders of which programs expect that they are deleted at any
// time. Folders that hold what was asked for, such as build and target, are none.
var cacheNames = []string{"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache", ".gocache", ".eslintcache", ".parcel-cache"}
