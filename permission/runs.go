package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/permission/shell"
)

// interpreters run whatever they are given, so that a rule with a wildcard for
// one of them is a rule for everything.
var interpreters = map[string]bool{
	"bash": true, "sh": true, "zsh": true, "dash": true, "ash": true, "ksh": true, "mksh": true, "csh": true, "tcsh": true, "fish": true, "busybox": true,
	"pwsh": true, "powershell": true, "osascript": true, "eval": true, "exec": true, "source": true, ".": true,
	"python": true, "pypy": true, "ipython": true, "node": true, "nodejs": true, "deno": true, "bun": true, "tsx": true, "ts-node": true, "ruby": true, "irb": true, "perl": true,
	"php": true, "lua": true, "luajit": true, "tclsh": true, "julia": true, "Rscript": true, "awk": true, "gawk": true, "mawk": true,
	"env": true, "sudo": true, "doas": true, "su": true, "ssh": true, "npx": true, "bunx": true, "pnpx": true, "uvx": true, "uv": true, "make": true, "docker": true, "podman": true,
	"xargs": true, "parallel": true, "entr": true,
}

// runsOthers reports whether a program, which may carry its version in its name, is
// an interpreter.
func runsOthers(program string) bool {
	name := filepath.Base(program)
	return interpreters[name] || interpreters[strings.TrimRight(name, "0123456789.")]
}

// destroyers leave nothing of what they are given, so that nobody should say yes to
// all that they may ever be given.
var destroyers = map[string]bool{"rm": true, "rmdir": true, "unlink": true, "shred": true, "truncate": true, "dd": true}

func removes(program string) bool { return destroyers[filepath.Base(program)] }

// manyInOne are programs whose first operand says which of many things they do.
var manyInOne = names(`git hg svn jj gh glab npm pnpm yarn cargo go rustup pip pip3 poetry conda gem bundle composer dotnet mvn gradle gradlew bazel
	docker-compose kubectl helm oc terraform tofu pulumi aws gcloud az gsutil fly flyctl heroku vercel netlify wrangler firebase
	apt apt-get dnf yum pacman apk brew snap flatpak nix systemctl launchctl ip nmcli adb`)

// namers hand on what they read as words of another command.
var namers = names("xargs parallel entr")

func names(list string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(list) {
		set[name] = true
	}
	return set
}

// workFromInput reports whether what a command runs or removes is, or can be, said
// by its input. Its words are then no more than a part of what was agreed to.
func workFromInput(c shell.Command) bool {
	switch program := c.Words[0]; {
	case c.More || namers[filepath.Base(program)]:
		return true
	case removes(program):
		return c.Fed || !slices.ContainsFunc(c.Words[1:], isOperand)
	case c.ExactOnly || runsOthers(program):
		return c.Fed || scriptFromInput(c.Words)
	}
	return false
}

// scriptFromInput reports whether an interpreter takes what it runs from its input: it
// has no operand, or is told to, or that holds for another one that it runs.
func scriptFromInput(words []string) bool {
	name, operands := filepath.Base(words[0]), words[1:]
	isShell := strings.HasSuffix(name, "sh")
	if isShell {
		operands = strings.Fields(strings.Join(operands, " ")) // those of the command that it is given too
	}
	switch {
	case name != "make" && !slices.ContainsFunc(operands, isOperand), slices.ContainsFunc(operands, isInput), namers[name]:
		return true
	case isShell && slices.ContainsFunc(operands, isStdinOption):
		return true
	case (name == "ssh" || name == "su") && (len(operands) < 2 || !isOperand(operands[0])):
		return true // a shell at the other end
	}
	inner := slices.IndexFunc(operands, func(word string) bool { return word != "." && runsOthers(word) })
	return inner >= 0 && scriptFromInput(operands[inner:])
}

// isOperand reports whether a word is not an option.
func isOperand(word string) bool { return !strings.HasPrefix(word, "-") }

// isInput reports whether a word is a name for the input, or an option with one.
func isInput(word string) bool {
	return slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, word) || !isOperand(word) && word != "--" && strings.HasSuffix(word, "-")
}

// isStdinOption reports whether an option of a shell is, or holds, -s.
func isStdinOption(word string) bool {
	return !isOperand(word) && !strings.HasPrefix(word, "--") && strings.Contains(word, "s")
}
