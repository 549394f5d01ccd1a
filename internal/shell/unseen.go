package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/shell/grammar"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// Deny lists the commands that a script names. A script can also make the name of a
// command, or text that is run as one, while it runs. Rules that deny or ask cannot see
// such a command, so it is noted that there is one.

// unseen notes why Deny may lack a command; the first reason stays.
func (a *analyzer) unseen(why string) {
	if a.out.Unseen == "" {
		a.out.Unseen = why
	}
}

// checkProgram looks for the program that words run, behind wrappers, and notes if its name is
// not known.
func (a *analyzer) checkProgram(args []value) {
	for range maxDenyWrappers {
		if len(args) == 0 {
			return
		}
		if !a.knowsName(args[0]) {
			a.unseen("the name of a program is not known before it runs")
			return
		}
		if args[0].certain && args[0].split {
			args = append(words(strings.Fields(args[0].guess)...), args[1:]...)
		}
		name := path.Base(args[0].guess)
		if isDevice(path.Clean(args[0].guess)) && strings.Contains(args[0].guess, "/fd/") {
			a.unseen("the program behind " + args[0].guess + " is not known before it runs")
		}
		if name != args[0].guess {
			a.checkWritten(args[0])
			a.runsFiles = a.runsFiles || !programFile.MatchString(path.Clean(args[0].guess))
		}
		a.checkRenamed(name, args)
		if slices.Contains(shells, name) {
			a.checkShell(args)
		}
		if i := slices.IndexFunc(args, func(v value) bool { return slices.Contains(runners[name], v.guess) }); i > 0 || isLoose(name) && name != "ssh" {
			a.checkLoose(args[max(i, 0)+1:])
			return
		}
		if name == "command" && len(args) > 1 && (strings.HasPrefix(args[1].guess, "-v") || strings.HasPrefix(args[1].guess, "-V")) {
			return // it says what a name stands for
		}
		inner, _ := a.peelGuess(name, args)
		if name == "xargs" {
			inner = withInput(args, inner)
		}
		args = inner
	}
}

// checkLoose notes if the first operand of a wrapper, which may be a program, is not known.
func (a *analyzer) checkLoose(args []value) {
	i := slices.IndexFunc(args, func(v value) bool { return v.Dynamic || !strings.HasPrefix(v.guess, "-") })
	if i >= 0 && !a.knowsName(args[i]) {
		a.unseen("the name of a program is not known before it runs")
	}
}

// knowsName reports whether the last part of a program's name is known, by which rules see it.
func (a *analyzer) knowsName(v value) bool {
	if v.Known() {
		return !v.param || !a.setsByName
	}
	set := a.nested == 0 && !a.setsByName // only by assignments that are seen
	if set && v.certain && strings.TrimSpace(v.guess) != "" {
		return true
	}
	i := strings.LastIndex(v.Shape, unknown)
	base := v.Shape[i+1:]
	return v.Pattern == "" && (!v.Many || set && v.inherited) && i >= 0 && strings.Contains(base, "/") && !strings.HasSuffix(base, "/")
}

// withInput returns what xargs runs: its input takes the place of a word, or follows the last.
func withInput(args, inner []value) []value {
	if len(inner) == 0 {
		return nil // it prints its input
	}
	marks := []string{"{}"}
	args = args[:len(args)-len(inner)]
	for i, v := range args {
		switch rest, ok := strings.CutPrefix(v.guess, "-I"); {
		case ok && rest == "" && i+1 < len(args):
			marks = append(marks, args[i+1].guess)
		case ok && rest != "":
			marks = append(marks, rest)
		case strings.HasPrefix(v.guess, "--replace="), strings.HasPrefix(v.guess, "-i") && len(v.guess) > 2:
			marks = append(marks, strings.TrimPrefix(strings.TrimPrefix(v.guess, "--replace="), "-i"))
		}
	}
	return append(fill(inner, marks...), value{Word: grammar.Word{Dynamic: true, Many: true, Shape: unknown}, rest: true})
}

// fill returns words in which what is not known takes the place of marks.
func fill(words []value, marks ...string) []value {
	words = slices.Clone(words)
	for i, v := range words {
		for _, mark := range marks {
			if mark != "" && strings.Contains(v.guess, mark) {
				words[i].Dynamic, words[i].Shape = true, strings.ReplaceAll(words[i].Shape, mark, unknown)
			}
		}
	}
	return words
}

// checkRenamed notes builtins that make a name run another program, or text run as a command.
func (a *analyzer) checkRenamed(name string, args []value) {
	has := func(flags string) bool {
		return slices.ContainsFunc(args[1:], func(v value) bool { return strings.HasPrefix(v.guess, "-") && strings.ContainsAny(v.guess, flags) })
	}
	switch {
	case name == "hash" && has("p"), name == "enable" && has("f"), name == "bind" && has("x"), name == "fc", name == "history" && has("s"),
		(name == "mapfile" || name == "readarray") && has("C"), name == "compgen" && has("CFW"), name == "complete" && has("CFW"):
		a.unseen(name + " may run a program by another name")
	case name == "alias" && slices.ContainsFunc(args[1:], func(v value) bool { return !v.Known() }):
		a.unseen("what an alias stands for is not known before it runs")
	case (name == "source" || name == ".") && len(args) > 1 && isDevice(args[1].guess) && (args[1].guess != "/dev/stdin" || !a.plainInput):
		a.unseen("a script is only known at run time")
	case name == "source" || name == ".":
		if len(args) > 1 {
			a.checkWritten(args[1])
		}
	case name == "eval":
		a.checkScript(args[1:]...)
	case name == "trap":
		if i := slices.IndexFunc(args[1:], func(v value) bool { return !strings.HasPrefix(v.guess, "-") || v.guess == "-" }); i >= 0 {
			a.checkScript(args[1+i])
		}
	}
	if a.piped && runsInput(name, args) {
		if a.fed = true; !a.plainInput {
			a.unseen(name + " gets commands from its input")
		}
	}
	if slices.ContainsFunc(args, func(v value) bool { return strings.HasPrefix(v.guess, "BASH_FUNC_") }) {
		a.unseen("it passes a function to a shell")
	}
	if name == "env" || name == "sudo" || name == "doas" {
		for _, v := range args[1:] {
			if key, program, ok := strings.Cut(v.guess, "="); ok && namesProgram(key) {
				a.denyScript(strings.TrimPrefix(program, "!"), maxDenyWrappers)
				a.checkProgramVariable(key, v)
			}
		}
	}
}

// runsInput reports whether a program that is no shell runs its input.
func runsInput(name string, args []value) bool {
	switch name {
	case "at", "batch", "crontab":
		return true
	case "sudo":
		return slices.ContainsFunc(args[1:], func(v value) bool {
			return v.guess == "-s" || v.guess == "-i" || v.guess == "--shell" || v.guess == "--login"
		})
	case "parallel":
		i := slices.IndexFunc(args[1:], func(v value) bool { return !strings.HasPrefix(v.guess, "-") })
		return i < 0 || strings.HasPrefix(args[1+i].guess, "{")
	}
	return false
}

func isDevice(file string) bool {
	return strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/")
}

// namesProgram reports whether a variable names a program that others run, or may do so in the
// settings of git.
func namesProgram(name string) bool {
	return slices.Contains(programVariables, name) || strings.HasPrefix(name, "GIT_CONFIG_VALUE_") || name == "GIT_CONFIG_PARAMETERS"
}

// checkProgramVariable notes that a variable names a program that is not known. ENV and SHELL are
// more often used for something else.
func (a *analyzer) checkProgramVariable(name string, v value) {
	if !v.Known() && name != "ENV" && name != "SHELL" {
		a.unseen("the program in " + name + " is not known before it runs")
	}
	if strings.Contains(strings.ToLower(name), "editor") && addsCommand.MatchString(v.guess) {
		a.unseen("an editor writes the commands that git runs")
	}
}

// addsCommand finds the word before a command in what git rebase -i is to do.
var addsCommand = lazyregexp.New(`exec|\bx\s`)

// checkScript looks at text that is run as a script, and of which parts may not be known: as
// arguments they may be anything, unless the script itself puts something else there.
func (a *analyzer) checkScript(text ...value) {
	if !slices.ContainsFunc(text, func(v value) bool { return !v.Known() }) {
		return
	}
	var shapes []string
	for _, v := range text {
		shapes = append(shapes, v.Shape)
	}
	if strings.ContainsAny(a.planted, "$`;&|<>(){}\n\\") {
		a.unseen("a script is made of parts that are only known at run time")
	}
	a.denyScript(strings.ReplaceAll(strings.Join(shapes, " "), unknown, "${"+placeholder+"}"), maxDenyWrappers)
}

// placeholder is a variable in place of what is not known.
const placeholder = "__haft_unknown"

// checkShell notes a shell whose script is not known.
func (a *analyzer) checkShell(args []value) {
	if script := scriptOperand(args[1:]); len(script) > 0 {
		a.checkScript(script[0])
		return
	}
	operand := slices.IndexFunc(args[1:], func(v value) bool { return !strings.HasPrefix(v.guess, "-") || v.Dynamic })
	reads := operand < 0 || slices.ContainsFunc(args[1:], func(v value) bool { return v.guess == "-s" })
	name := path.Base(args[0].guess)
	if !reads && isDevice(args[1+operand].guess) && name != "script" { // which writes to it
		reads = args[1+operand].guess == "/dev/stdin"
		if !reads {
			a.unseen("a script is only known at run time")
		}
	}
	if !reads {
		a.checkWritten(args[1+operand])
	}
	if reads && a.piped && !a.plainInput && !a.fileInput && slices.Contains(posixShells, name) {
		a.unseen("a shell gets its script from its input")
	}
}

// posixShells are those of shells that run their input as a script.
var posixShells = strings.Fields("sh bash dash zsh ksh mksh ash rbash fish yash tcsh csh")

// plainFeed reports whether redirections give a command text that is written out.
func plainFeed(list []*syntax.Redirect) bool {
	return !slices.ContainsFunc(list, func(r *syntax.Redirect) bool {
		switch {
		case !feeds(r):
			return false
		case !isInput(r):
			return true
		case r.Hdoc != nil:
			return !fixed(r.Hdoc)
		}
		return r.Op != syntax.WordHdoc || !fixed(r.Word)
	})
}

// fileFeed reports whether redirections give a command a file as its input, by its name: what is
// in it is looked for as little as in a script that is named as an operand.
func fileFeed(list []*syntax.Redirect) bool {
	return !slices.ContainsFunc(list, func(r *syntax.Redirect) bool {
		return feeds(r) && (!isInput(r) || r.Op != syntax.RdrIn || !fixed(r.Word) || isDevice(path.Clean(literalText(r.Word))))
	})
}

// isInput reports whether what a redirection feeds is the input, and no other descriptor.
func isInput(r *syntax.Redirect) bool { return r.N == nil || r.N.Value == "0" }

// printsPlain reports whether a statement prints text that is written out.
func printsPlain(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	switch name := call.Args[0].Lit(); name {
	case "cat":
		return len(call.Args) == 1 && slices.ContainsFunc(st.Redirs, feeds) && plainFeed(st.Redirs)
	case "echo", "printf":
		return !slices.ContainsFunc(call.Args[1:], func(w *syntax.Word) bool {
			text := literalText(w)
			return !fixed(w) || strings.Contains(text, `\`) && !(name == "printf" && strings.Count(text, `\`) == strings.Count(text, `\n`)) ||
				name == "printf" && strings.Count(text, "%") != strings.Count(text, "%s")
		})
	}
	return false
}
