package preview

import "strings"

// HomeCaches are folders below the home folder that programs write while they do what
// they were asked for: what they can make again, and counts of their use.
func HomeCaches() []string {
	return strings.Fields(`.cache .npm .cargo .rustup .gradle .m2 .nuget .dotnet .yarn .pnpm-store .local/share/pnpm .local/state .bun .deno .ivy2 .sbt .stack
		.cabal .pub-cache .composer .bundle .gem .ipython .matplotlib .node-gyp .terraform.d .config/go .config/configstore go/pkg Library/Caches`)
}
