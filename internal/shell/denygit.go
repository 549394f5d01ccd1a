package shell

import (
	"path"
	"slices"
	"strings"
)

// denyGit adds the programs that git is told to run, and what its commands stand for.
func (a *analyzer) denyGit(args []value, depth int) {
	for i, v := range args[1:] {
		if key, program, ok := strings.Cut(v.guess, "="); ok && args[i].guess == "-c" && runs(strings.ToLower(key)) {
			a.denyScript(strings.TrimPrefix(program, "!"), depth)
			a.checkProgramVariable(key, v)
			a.runsFiles = true
		}
		a.runsFiles = a.runsFiles || strings.HasPrefix(v.guess, "--template") // which has hooks
		if _, program, ok := strings.Cut(v.guess, "ext::"); ok {              // which has a blank in a word as "% "
			list := strings.Fields(strings.ReplaceAll(program, "% ", unknown))
			for i := range list {
				list[i] = strings.ReplaceAll(list[i], unknown, " ")
			}
			a.denyWords(words(list...), depth-1)
		}
	}
	if slices.ContainsFunc(args, runsScript) {
		a.denyTexts(args[1:], depth)
	}
	i := GitCommand(command(args).Words)
	if i >= len(args) {
		return
	}
	sub, rest := args[i].guess, args[i+1:]
	a.denyGitPrograms(sub, rest, depth)
	has := func(flags ...string) bool {
		return slices.ContainsFunc(rest, func(v value) bool { return slices.Contains(flags, v.guess) })
	}
	switch {
	case sub == "config":
		for i := range max(len(rest)-1, 0) {
			if key := strings.ToLower(rest[i].guess); strings.Contains(key, ".") && runs(key) {
				a.denyScript(strings.TrimPrefix(rest[i+1].guess, "!"), depth)
				a.checkProgramVariable(key, rest[i+1])
				a.runsFiles = true
			}
		}
	case sub == "send-pack" || sub == "http-push", sub == "subtree" && has("push"):
		a.addDeny(command(append(words("git", "push"), rest...)))
	case sub == "for-each-repo":
		for len(rest) > 0 && strings.HasPrefix(rest[0].guess, "-") {
			rest = rest[1:]
		}
		a.denyWords(append(words("git"), rest...), depth-1)
	}
}

// denyGitPrograms adds the programs that flags of a command of git name.
func (a *analyzer) denyGitPrograms(sub string, args []value, depth int) {
	flags := []string{"--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager", "--extcmd", "--tool", "--smtp-server", "--to-cmd", "--cc-cmd"}
	switch sub {
	case "clone":
		flags = append(flags, "-u")
	case "grep":
		flags = append(flags, "-O")
	case "rebase", "difftool":
		flags = append(flags, "-x")
	}
	for i, v := range args {
		for _, flag := range flags {
			program, ok := strings.CutPrefix(v.guess, flag)
			if ok && program == "" && i+1 < len(args) {
				program = args[i+1].guess
			}
			if program = strings.TrimPrefix(program, "="); ok && program != "" {
				a.denyScript(program, depth)
				a.checkScript(v)
			}
		}
	}
}

// GitRuns reports whether an option before the command of git has it run a program or look elsewhere
// for its own.
func GitRuns(words []string) bool {
	if len(words) == 0 || path.Base(words[0]) != "git" {
		return false
	}
	for i, w := range words[:GitCommand(words)] {
		key, _, _ := strings.Cut(w, "=")
		if words[max(i-1, 0)] == "-c" && runs(strings.ToLower(key)) || key == "--config-env" || key == "--exec-path" {
			return true
		}
	}
	return false
}

// GitCommand returns which of the words of git, the first of which is its name, is the command of
// git: the first operand. It is len(words) if there is none.
func GitCommand(words []string) int {
	i := 1
	for i < len(words) && len(words[i]) > 1 && words[i][0] == '-' {
		switch words[i] {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source":
			i++
		}
		i++
	}
	return min(i, len(words))
}
