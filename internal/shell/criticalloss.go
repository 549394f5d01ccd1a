package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// critical notes commands that lose what no mode may lose without asking.
func (a *analyzer) critical(args []value) {
	args = a.unwrapped(args)
	if len(args) == 0 {
		return
	}
	name := path.Base(args[0].guess)
	flags, rest := splitFlags(args[1:])
	switch {
	case name == "rm" || name == "rmdir" || name == "shred" || name == "unlink" || name == "srm":
		recursive := slices.ContainsFunc(flags, func(v value) bool {
			return isRecursive(v.guess) || !strings.HasPrefix(v.guess, "--") && strings.ContainsAny(v.guess, "rR")
		})
		a.criticalRemoval(rest, recursive)
		a.removes = a.removes || recursive
	case name == "mv" && len(rest) > 1:
		a.criticalRemoval(rest[:len(rest)-1], true)
	case name == "find" && slices.ContainsFunc(args, func(v value) bool { return v.guess == "-delete" || v.guess == "rm" }):
		if !narrows(args) {
			a.criticalRemoval(findRoots(args[1:]), true)
		}
	case (name == "chmod" || name == "chown" || name == "chgrp") && slices.ContainsFunc(flags, func(v value) bool { return strings.Contains(v.guess, "R") || isRecursive(v.guess) }) && len(rest) > 1:
		a.criticalRoots(rest[1:])
	case strings.HasPrefix(name, "mkfs") || slices.Contains([]string{"wipefs", "fdisk", "sfdisk", "parted", "blkdiscard", "mkswap"}, name):
		if len(rest) > 0 {
			a.setCritical("the file system on " + rest[len(rest)-1].guess)
		}
	case name == "dd":
		for _, v := range rest {
			if file, ok := strings.CutPrefix(v.guess, "of=/dev/"); ok && !harmlessDevice("/dev/"+file) {
				a.setCritical("the data on /dev/" + file)
			}
		}
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name):
		a.setCritical("what is running on this machine")
	case strings.HasPrefix(name, ":(){") || name == ":" && strings.Contains(a.source, ":|:"):
		a.setCritical("what is running on this machine, with a fork bomb")
	case name == "git":
		a.criticalGit(command(args).Words)
	case name == "rsync" && len(rest) > 1 && slices.ContainsFunc(flags, func(v value) bool { return strings.HasPrefix(v.guess, "--del") }):
		a.criticalMirror(rest[len(rest)-1])
	}
}

// criticalGit notes commands of git that lose what git does not keep.
func (a *analyzer) criticalGit(args []string) {
	i := GitCommand(args)
	if i == len(args) {
		return
	}
	has := func(short, long string) bool {
		return slices.ContainsFunc(args[i+1:], func(s string) bool {
			return s == long || short != "" && len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.Contains(s, short)
		})
	}
	switch {
	case args[i] == "reset" && has("", "--hard"):
		a.setCritical(uncommitted)
	case args[i] == "clean" && has("f", "--force") && !has("n", "--dry-run"):
		a.setCritical("files that git does not keep")
	}
}

// criticalMirror notes a target outside the project in which all that the source lacks is deleted.
func (a *analyzer) criticalMirror(target value) {
	a.criticalRemoval([]value{target}, true)
	if outside := func(dir string) bool { return !a.inside(join(dir, target.guess)) }; !strings.Contains(target.guess, ":") && slices.ContainsFunc(a.dirs, outside) {
		a.setCritical("what is in " + target.guess)
	}
}

// findTests narrow what find -delete removes.
var findTests = strings.Fields("-name -iname -path -ipath -wholename -regex -iregex -newer -mtime -mmin -ctime -cmin -atime -amin -size -empty -user -group -perm -inum -samefile")

// narrows reports whether the tests of find spare anything: -name '*' spares
// nothing, and after an -o or a ! nobody knows.
func narrows(args []value) bool {
	tests := false
	for i, v := range args {
		switch {
		case v.guess == "-o" || v.guess == "-or" || v.guess == "!" || v.guess == "-not" || v.guess == ",":
			return false
		case slices.Contains(findTests, v.guess):
			tests = tests || v.guess == "-empty" || i+1 < len(args) && strings.Trim(args[i+1].guess, "*?./") != ""
		}
	}
	return tests
}

// isRecursive reports whether a word is --recursive or an abbreviation.
func isRecursive(s string) bool { return len(s) > 2 && strings.HasPrefix("--recursive", s) }

// criticalInput judges what a recursive removal may get as its input, through
// xargs: any word of the whole command.
func (a *analyzer) criticalInput() {
	if !a.removes || !slices.Contains(a.words, "xargs") && !slices.Contains(a.words, "parallel") {
		return
	}
	for _, w := range slices.Concat(a.words, strings.Fields(strings.Join(a.texts, " "))) {
		if strings.HasPrefix(w, "/") || strings.HasPrefix(w, "~") {
			a.criticalRemoval(words(w), true)
		}
	}
}

func findRoots(args []value) []value {
	var out []value
	for _, v := range args {
		if v.guess == "" || strings.HasPrefix(v.guess, "-") && len(v.guess) > 2 || v.guess == "(" || v.guess == "!" {
			break
		}
		if !strings.HasPrefix(v.guess, "-") {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		out = words(".")
	}
	return out
}

// unwrapped takes every wrapper off.
func (a *analyzer) unwrapped(args []value) []value {
	for range maxDenyWrappers {
		if len(args) == 0 {
			break
		}
		inner, _ := a.peelGuess(path.Base(args[0].guess), args)
		if inner == nil {
			break
		}
		args = inner
	}
	return args
}

const uncommitted = "changes that are not committed"

func (a *analyzer) setCritical(what string) {
	if a.out.Critical == "" {
		a.out.Critical, a.out.Uncommitted = what, what == uncommitted
	}
	a.out.Uncommitted = a.out.Uncommitted && what == uncommitted
}

// criticalRemoval judges the operands of a removal.
func (a *analyzer) criticalRemoval(rest []value, recursive bool) {
	for _, v := range rest {
		for _, dir := range a.dirs {
			if what := a.criticalPath(v, dir, recursive); what != "" {
				a.setCritical(what)
			}
		}
	}
}

// criticalRoots judges the operands of a recursive change of modes.
func (a *analyzer) criticalRoots(rest []value) {
	for _, v := range rest {
		p := path.Clean(v.guess)
		if p == "/" || p == "~" || p == path.Clean(a.opts.Home) || systemTree(p) {
			a.setCritical("the permissions of " + p)
		}
	}
}

// criticalPath returns what the removal of v from dir would lose.
func (a *analyzer) criticalPath(v value, dir string, recursive bool) string {
	text := v.guess
	if trimmed := strings.TrimRight(text, "/"); trimmed != "" {
		text = trimmed
	}
	if v.Pattern != "" || v.Dynamic {
		// A wildcard right below a place empties it.
		parent, last := path.Split(text)
		if strings.Trim(last, "*.?[]!") == "" && last != "" {
			if v.Dynamic && strings.Trim(parent, "/") == "" {
				return "everything in a directory whose name is only known at run time"
			}
			if parent == "" {
				parent = "."
			}
			return a.criticalPlace(parent, dir, "everything in ")
		}
		if v.Dynamic && recursive && strings.Trim(text, "/") == "" {
			return "a directory whose name is only known at run time"
		}
	}
	if !recursive {
		return ""
	}
	return a.criticalPlace(text, dir, "")
}

func (a *analyzer) criticalPlace(text, dir, how string) string {
	full := path.Clean(text)
	switch {
	case full == "~" || text == "$HOME":
		return how + "the home directory"
	case strings.HasPrefix(full, "/"):
	case dir == lost:
		return how + full + " in a directory that is only known at run time"
	case dir == "":
		if full == "." || full == ".." || strings.HasPrefix(full, "../") {
			return how + "the working directory or one above it"
		}
	default:
		full = join(dir, full)
	}
	home := a.opts.Home
	switch {
	case full == "/":
		return how + "the root directory"
	case home != "" && pathin.Contains(full, path.Clean(home)):
		return how + "the home directory"
	case systemTree(full):
		return how + full
	case slices.ContainsFunc(a.opts.Roots, func(root string) bool { return pathin.Contains(full, path.Clean(root)) }):
		return how + "the project directory"
	case path.Base(full) == ".git":
		return how + "the git repository"
	}
	return ""
}

// systemTree reports whether a path is the machine's own.
func systemTree(p string) bool {
	return slices.Contains(strings.Fields("/bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /run /sbin /srv /sys /usr /var /usr/bin /usr/lib /usr/local /usr/share /Users /Library /System /Applications /var/lib"), p)
}

func harmlessDevice(p string) bool {
	return slices.Contains(strings.Fields("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/zero"), p) || strings.HasPrefix(p, "/dev/fd/") || strings.HasPrefix(p, "/dev/shm/")
}
