package trust

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var (
	shells = lazyregexp.New(`^(ba|da|z|k|fi|a)?sh$`)
	// interpreters run the first operand that they are given.
	interpreters = lazyregexp.New(`^((ba|da|z|k|fi|a)?sh|source|\.|python[0-9.]*|pypy[0-9]*|node|nodejs|tsx|ts-node|deno|bun|ruby|perl|php|lua[0-9.]*|Rscript|pwsh|osascript|tclsh|guile|groovy|julia)$`)
	packagers    = []string{"npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "corepack"}
	makes        = []string{"make", "gmake", "bmake"}
)

// dataPrograms work on the files that they are given and do not run them, unless after
// -f: a change of such a file is what a session is for.
var dataPrograms = strings.Fields(`
	[ test echo printf cat tee touch cp mv rm mkdir ls stat wc sort uniq head tail cut tr diff cmp comm grep egrep fgrep rg sed awk gawk jq yq find chmod tar zip unzip gzip
	sha256sum md5sum file git gofmt goimports gofumpt prettier black ruff isort rustfmt clang-format shfmt eslint stylelint markdownlint
`)

// runners are programs that run what a file of the project says, with these files.
var runners = map[string]string{
	"npm": "package.json .npmrc", "npx": "package.json .npmrc", "pnpm": "package.json .npmrc .pnpmfile.cjs pnpm-workspace.yaml", "pnpx": "package.json",
	"yarn": "package.json .yarnrc .yarnrc.yml", "bun": "package.json bunfig.toml", "bunx": "package.json bunfig.toml",
	"make": "GNUmakefile makefile Makefile", "gmake": "GNUmakefile makefile Makefile", "bmake": "BSDmakefile makefile Makefile",
	"just": "justfile Justfile .justfile", "task": "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml", "mise": "mise.toml .mise.toml",
	"rake": "Rakefile rakefile Rakefile.rb", "bundle": "Gemfile", "deno": "deno.json deno.jsonc", "cargo": "Cargo.toml build.rs .cargo/config.toml",
	"gradle": "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties", "mvn": "pom.xml .mvn/maven.config .mvn/jvm.config .mvn/extensions.xml",
	"composer": "composer.json", "tox": "tox.ini pyproject.toml setup.cfg", "nox": "noxfile.py", "invoke": "tasks.py", "inv": "tasks.py", "fab": "fabfile.py",
	"poetry": "pyproject.toml", "pdm": "pyproject.toml", "hatch": "pyproject.toml", "uv": "pyproject.toml uv.toml", "pipenv": "Pipfile",
	"pre-commit": ".pre-commit-config.yaml", "lefthook": "lefthook.yml lefthook.yaml .lefthook.yml", "ant": "build.xml", "earthly": "Earthfile", "dagger": "dagger.json",
}

func contains(values []string, word string) bool { return slices.Contains(values, word) }
