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

<<<<<<< HEAD
// program binds what a program runs because of its arguments.
func (b *binder) program(name string, args [][]string, texts []string) {
	b.enter(name, args)
	for file := range strings.FieldsSeq(runners[name]) {
		if b.h.skips == nil || !b.h.skips(name) {
			b.file(file)
		}
	}
	if slices.Contains(packagers, name) {
		b.packageScripts(args)
	}
	if slices.Contains(makes, name) {
		b.makefiles(args)
	}
	if interpreters.MatchString(name) {
		b.interpreter(name, args, texts)
	}
	switch name {
	case "eval":
		var script []string
		for i, a := range args {
			if a == nil {
				b.cannot("what " + texts[i] + " stands for")
				return
			}
			script = append(script, a[0])
		}
		b.command(strings.Join(script, " "))
	case "run-parts":
		for _, a := range args {
			for _, dir := range a {
				b.tree(dir)
			}
		}
	case "find":
		b.findExec(args, texts)
	case "git":
		for i, a := range args[1:] {
			if !contains(args[i], "-c") {
				continue
			}
			for _, setting := range a {
				_, value, _ := strings.Cut(setting, "=")
				b.file(value)
				b.tree(value)
			}
		}
	}
	if name == "go" && len(args) > 1 && contains(args[0], "run") {
		for _, a := range args[1:] {
			b.folder(a, ".go")
		}
	}
}

// findExec binds what find runs, and the files that it gives an interpreter.
func (b *binder) findExec(args [][]string, texts []string) {
	for i, a := range args {
		if !contains(a, "-exec") && !contains(a, "-execdir") && !contains(a, "-ok") && !contains(a, "-okdir") || i+1 >= len(args) {
			continue
		}
		b.run(args[i+1:], texts[i+1:])
		if len(args[i+1]) > 0 && !interpreters.MatchString(filepath.Base(args[i+1][0])) && args[i+1][0] != "{}" {
			continue
		}
		for _, start := range args {
			if len(start) == 0 || strings.HasPrefix(start[0], "-") {
				break
			}
			b.tree(start[0])
		}
	}
}

func contains(values []string, word string) bool { return slices.Contains(values, word) }

// enter follows a command into a folder, by cd or by an option.
func (b *binder) enter(name string, args [][]string) {
	for i, a := range args {
		moves := name == "cd" || name == "pushd" || i > 0 && (contains(args[i-1], "-C") || contains(args[i-1], "--prefix") || contains(args[i-1], "--cwd") || contains(args[i-1], "--directory"))
		if !moves {
			continue
		}
		for _, dir := range a {
			for _, path := range b.below(dir) {
				if path = filepath.Join(b.h.base, path); !slices.Contains(b.dirs, path) {
					b.dirs = append(slices.Clip(b.dirs), path)
				}
			}
		}
	}
}

// interpreter binds the script that an interpreter is given, as a file, a module, a
// folder or a text.
func (b *binder) interpreter(name string, args [][]string, texts []string) {
	skip := -1
	for i, a := range args {
		switch {
		case a == nil:
			b.cannot("what " + texts[i] + " stands for")
			return
		case contains(a, "-c") && i+1 < len(args) && shells.MatchString(name):
			for _, text := range args[i+1] {
				b.command(text)
			}
			if args[i+1] == nil {
				b.cannot("what " + texts[i+1] + " stands for")
			}
			return
		case contains(a, "-c"), contains(a, "-e"), contains(a, "--eval"), contains(a, "-p"):
			return // the text is part of the command
		case contains(a, "-m") && i+1 < len(args):
			b.module(args[i+1], texts[i+1])
			return
		case contains(a, "-I") && i+1 < len(args):
			for _, dir := range args[i+1] {
				b.tree(dir)
			}
			skip = i + 1
			continue
		case strings.HasPrefix(a[0], "-I"):
			b.tree(a[0][2:])
			continue
		case strings.HasPrefix(a[0], "-"), i == skip:
			continue
		}
		for _, script := range b.expand(a) {
			b.script(script)
		}
		return
	}
}

// script binds a script, or the program that a folder is.
func (b *binder) script(name string) {
	b.file(name)
	for _, suffix := range []string{".js", ".cjs", ".mjs", ".json", "/index.js", "/__main__.py", "/package.json"} {
		b.file(name + suffix)
	}
	for _, path := range b.below(name + "/package.json") {
		if main := b.packageAt(path).Main; main != "" {
			at := filepath.Join(b.h.base, filepath.Dir(path), main)
			for _, suffix := range []string{"", ".js", ".cjs", ".mjs", "/index.js"} {
				b.file(at + suffix)
			}
		}
	}
}

// module binds a module of Python, with its package.
func (b *binder) module(values []string, text string) {
	if values == nil {
		b.cannot("the module " + text)
		return
	}
	for _, m := range values {
		parts := strings.Split(m, ".")
		for i := range parts {
			at := strings.Join(parts[:i+1], "/")
			b.file(at + ".py")
			b.file(at + "/__init__.py")
		}
		b.folder([]string{strings.Join(parts, "/")}, ".py")
	}
}

// folder binds the files of a folder with an ending.
func (b *binder) folder(values []string, ending string) {
	for _, v := range values {
		for _, dir := range b.below(v) {
			entries, err := fs.ReadDir(b.h.root.FS(), filepath.ToSlash(dir))
			if err != nil {
				continue
			}
			if len(entries) > maxMatches {
				b.cannot("the folder " + v)
				continue
			}
			for _, e := range entries {
				if strings.HasSuffix(e.Name(), ending) {
					b.file(filepath.Join(b.h.base, dir, e.Name()))
				}
			}
		}
	}
}

// packageScripts binds what the scripts of package.json run that arguments name. The
// programs of installed packages come before others of their names.
func (b *binder) packageScripts(args [][]string) {
	var words []string
	for _, a := range args {
		words = append(words, a...)
	}
	for _, w := range words {
		b.bin(w)
	}
	for _, path := range b.below("package.json") {
		scripts := b.packageAt(path).Scripts
		for _, w := range words {
			if w == "t" || w == "tst" {
				w = "test"
			}
			for _, name := range []string{"pre" + w, w, "post" + w} {
				if text := scripts[name]; text != "" {
					b.from(filepath.Join(b.h.base, filepath.Dir(path)), text)
				}
			}
		}
	}
}

// bin binds the program of an installed package.
func (b *binder) bin(name string) {
	if name != "" && !strings.ContainsAny(name, "/\\") {
		b.file("node_modules/.bin/" + name)
	}
}
=======
func contains(values []string, word string) bool { return slices.Contains(values, word) }
>>>>>>> 430e81dc (all: gather the methods of large types in their files, too)
