package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
)

// interpreters run whatever they are given, so a rule with a wildcard for one of them
// allows everything.
const interpreters = names(`bash sh zsh dash ash ksh mksh csh tcsh fish busybox pwsh powershell osascript eval exec source .
	python pypy ipython node nodejs deno bun tsx ts-node ruby irb perl php lua luajit tclsh julia Rscript awk gawk mawk
	env time sudo doas su runuser gosu su-exec setpriv chroot unshare nsenter ssh npx bunx pnpx uvx uv make docker podman bwrap firejail
	strace ltrace gdb lldb valgrind perf hyperfine prlimit setarch numactl chpst setuidgid softlimit rlwrap script tmux screen
	xargs parallel entr`)

// runsOthers reports whether a program, whose name may include its version, is an
// interpreter.
func runsOthers(program string) bool {
	name := filepath.Base(program)
	return interpreters.has(name) || interpreters.has(strings.TrimRight(name, "0123456789."))
}

// destroyers leave nothing of what they are given, so a rule must not allow everything that
// they may ever be given.
const destroyers = names("rm rmdir unlink shred truncate dd")

func removes(program string) bool { return destroyers.has(filepath.Base(program)) }

// namers hand on what they read as words of another command.
const namers = names("xargs parallel entr")

// names are words with blanks between them. They are looked through for each question: a start builds no sets of names
// about which it may never be asked.
type names string

func (n names) has(name string) bool {
	for one := range strings.FieldsSeq(string(n)) {
		if one == name {
			return true
		}
	}
	return false
}

// workFromInput reports whether the input of a command decides, or can decide, what it runs
// or removes. The words of the command are then only part of what the user agrees to.
func workFromInput(c shell.Command) bool {
	switch program := c.Words[0]; {
	case c.More || namers.has(filepath.Base(program)):
		return true
	case removes(program):
		return c.Fed || !slices.ContainsFunc(c.Words[1:], isOperand)
	case c.ExactOnly || runsOthers(program):
		return c.Fed || scriptFromInput(c.Words)
	}
	return false
}

// scriptFromInput reports whether an interpreter reads what it runs from its input: it has
// no operand, or is told to, or runs another interpreter that does.
func scriptFromInput(words []string) bool {
	name, operands := filepath.Base(words[0]), words[1:]
	isShell := strings.HasSuffix(name, "sh")
	if isShell {
		operands = strings.Fields(strings.Join(operands, " ")) // also those of the command that it runs
	}
	switch {
	case name != "make" && !slices.ContainsFunc(operands, isOperand), slices.ContainsFunc(operands, isInput), namers.has(name):
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

// isInput reports whether a word is a name for standard input, or an option with one.
func isInput(word string) bool {
	return slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, word) || !isOperand(word) && word != "--" && strings.HasSuffix(word, "-")
}

// isStdinOption reports whether an option of a shell is, or holds, -s.
func isStdinOption(word string) bool {
	return !isOperand(word) && !strings.HasPrefix(word, "--") && strings.Contains(word, "s")
}
