package shell

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// An assignment is NAME=value in front of a command.
type assignment struct {
	name  string
	value value
}

// call walks a simple command.
func (a *analyzer) call(c *syntax.CallExpr) flow {
	here := flow{a.dirs, a.dirs}
	if a.steps--; a.steps < 0 {
		a.refuse("the command has too many parts")
		text := a.text(c)
		if !a.judged[c] && (text == "" || strings.ContainsAny(text, "$`*?[")) {
			a.unseen("the command has too many parts")
		}
		a.denyTokens(text)
		return here
	}
	a.judged[c] = true
	var assigns []assignment
	for _, as := range c.Assigns {
		v := a.assignValue(as)
		name := ""
		if as.Name != nil {
			name = as.Name.Value
		}
		if as.Index != nil || as.Array != nil || as.Append {
			a.refuse("an assignment to an array or an element of one")
		}
		assigns = append(assigns, assignment{name, v})
	}
	args := a.values(c.Args...)
	if len(args) == 0 {
		a.bareAssign(assigns)
		return here
	}
	a.calling = a.text(c)
	a.simple(args, assigns)
	switch {
	case args[0].guess == "cd", args[0].guess == "pushd":
		return a.cd(args, assigns)
	case a.moves(args):
		return flow{dirs{lost}, dirs{lost}}
	}
	return here
}

// moves reports whether a command may leave the shell in another directory.
func (a *analyzer) moves(args []value) bool {
	inner := a.unwrapped(args)
	return len(inner) > 0 && slices.Contains([]string{"cd", "pushd", "popd", "eval", "source", "."}, inner[0].guess)
}

// assignValue returns NAME=value as a word whose Value is the value alone.
func (a *analyzer) assignValue(as *syntax.Assign) value {
	if as.Index != nil {
		a.searchNested(as.Index)
	}
	if as.Array != nil {
		a.searchNested(as.Array)
		return value{Word: grammar.Word{Dynamic: true}, refuse: "it assigns an array"}
	}
	if as.Value == nil {
		return value{}
	}
	v := a.value(as.Value)
	a.runsFiles = a.runsFiles || as.Name != nil && slices.Contains(searched, as.Name.Value)
	if as.Name != nil && namesProgram(as.Name.Value) {
		a.denyScript(strings.TrimPrefix(v.guess, "!"), maxDenyWrappers)
		a.checkProgramVariable(as.Name.Value, v)
	}
	if v.Pattern != "" { // no pattern is expanded here
		v.Value, v.Pattern, v.Many = v.guess, "", false
	}
	return v
}

// searched are variables with folders or files in which others find what they run.
var searched = strings.Fields("PATH HOME ENV BASH_ENV PYTHONPATH NODE_PATH PERL5LIB RUBYLIB ZDOTDIR")

// bareAssign handles assignments without a command: they stay for later ones.
// One is relied on if it surely runs, which it does not after a redirection that
// fails, is the only one and nobody else heeds the variable.
func (a *analyzer) bareAssign(assigns []assignment) {
	for _, as := range assigns {
		v := as.value
		runs := a.depth == 1 && a.nested == 0 && !a.lone && !a.redirected
		if runs && v.Known() && v.refuse == "" && a.assigned[as.name] == 1 && !a.looped[as.name] && localName(as.name) {
			a.vars[as.name] = binding{value: v, sure: true}
			a.deny(nil, words(as.name+"="+v.guess))
			continue
		}
		if a.nested == 0 && v.refuse == "" && v.Dynamic && v.Wild && !a.looped[as.name] && (localName(as.name) || slices.Contains(dataNames, as.name)) {
			// No program heeds it, and it holds what a command printed.
			a.vars[as.name] = binding{value: v, data: true}
			a.deny(nil, words(as.name+"="+v.guess))
			continue
		}
		a.refuse("it sets a variable for later commands")
		once := runs && v.Known() && a.assigned[as.name] == 1 && !a.looped[as.name] && scriptSets(as.name)
		v.Dynamic, v.Value = true, ""
		a.vars[as.name] = binding{value: v, once: once}
		a.deny(nil, words(as.name+"="+as.value.guess))
	}
}

// dataNames are variables that people keep a value in and that no program heeds.
var dataNames = strings.Fields("X Y Z SHA COMMIT BRANCH VERSION NAME FILE FILES DIR DIRS OUT OUTPUT RESULT RESULTS TAG DATE NOW COUNT LINES_OUT LINE STATUS MSG MESSAGE BASE HEAD REV ROOT_DIR TMP_FILE TOTAL N ID URL_TEXT PKG PKGS MODULE")

// simple judges a command whose words are known as far as possible.
func (a *analyzer) simple(args []value, assigns []assignment) {
	for _, v := range args {
		if v.Known() {
			a.words = append(a.words, v.Value)
		}
		if v.output {
			a.indirect = true
			a.words = append(a.words, v.guess)
		}
	}
	a.feed(printed(args))
	a.deny(assigns, args)
	a.critical(args)
	use, err := a.readOnly(args, assigns)
	if err == nil && use.Confined {
		err = a.confine(args)
		a.allow(a.expandValues(args), assigns, nil, false) // where nothing confines it, it needs a rule
		if err == nil {
			return
		}
		a.fail(err.Error())
		return
	}
	if err == nil {
		a.out.UsesGit = a.out.UsesGit || use.Git
		a.outside = a.outside || use.Outside
		a.beside = a.beside || !use.Outside && !slices.Contains(passers, args[0].guess)
		return
	}
	a.fail(err.Error())
	if slices.ContainsFunc(args, func(v value) bool { return v.guess == "git" || strings.HasSuffix(v.guess, "/git") }) {
		a.out.UsesGit = true
		a.out.GitDirs = append(a.out.GitDirs, a.dirs...)
	}
	for _, v := range args {
		if v.Pattern != "" {
			a.out.Matched = append(a.out.Matched, a.paths(v.Word)...)
		}
	}
	args = a.expandValues(args)
	edits, isEdit := a.fileOperands(args)
	a.allow(args, assigns, edits, isEdit)
}

// confine takes in a command that only reads where it is confined. What runs code of the
// project there can print any file of it, so that none may hold credentials.
func (a *analyzer) confine(args []value) error {
	if a.nested > 0 {
		return nil
	}
	use := grammar.Use{Walks: true, Hidden: true}
	for _, root := range a.opts.Roots {
		use.Reads = append(use.Reads, grammar.Literal(root))
	}
	if reason := a.walk(use); reason != "" {
		return errors.New(reason)
	}
	a.beside = true
	a.confined = cmp.Or(a.confined, command(args).Text+" may run the project's code or write files")
	return nil
}

// passers only pass on text: none of their options writes a file or runs a program.
var passers = strings.Fields("cat cd column cut echo egrep fgrep false grep head jq nl printf pwd rev tail tr true wc")

// allow adds a command that needs a rule, without the wrappers that allow
// rules look through.
func (a *analyzer) allow(args []value, assigns []assignment, edits []Path, isEdit bool) {
	if a.nested > 0 {
		return
	}
	whole := command(args)
	args, more := a.peelForAllow(args)
	c := command(args)
	c.More, c.Fed, c.Source = more, a.piped, a.calling
	if len(c.Words) < len(whole.Words) {
		c.Wrapped = whole.Text
	}
	for _, as := range assigns {
		c.Prefix = strings.TrimSpace(c.Prefix + " " + as.name + "=" + as.value.guess)
		if as.value.Dynamic {
			a.inexact("the value assigned to " + as.name + " is not known before it runs")
		}
		if !harmlessAssign(as, args) {
			c.Assigns = append(c.Assigns, as.name)
		}
	}
	if c.Dynamic {
		a.inexact("some words are only known at run time")
	}
	c.ExactOnly = exactOnly(c.Words)
	c.Edit, c.Edits = isEdit, edits
	a.out.Allow = append(a.out.Allow, c)
}

// peelForAllow takes off the wrappers that allow rules look through, and reports
// whether one of them adds words.
func (a *analyzer) peelForAllow(args []value) (inner []value, more bool) {
	for range maxWrappers {
		if len(args) > 1 && args[0].Known() && args[0].Value == "xargs" && !strings.HasPrefix(args[1].guess, "-") {
			args, more = args[1:], true
			continue
		}
		p, ok := a.table.Peel(toWords(args))
		if !ok || !p.Allow || !p.Exact {
			break
		}
		args = args[len(args)-len(p.Words):]
	}
	return args, more
}

// exactOnly reports whether a command runs or deletes what its operands say.
func exactOnly(words []string) bool {
	switch words[0] {
	case "watch", "setsid", "ionice", "flock":
		return true
	case "find", "fd", "fdfind":
		return slices.ContainsFunc(words[1:], func(s string) bool {
			return strings.HasPrefix(s, "-exec") || strings.HasPrefix(s, "-ok") || s == "-delete" || strings.HasPrefix(s, "-f") && words[0] == "find" ||
				words[0] != "find" && (s == "-x" || s == "-X" || strings.HasPrefix(s, "--exec"))
		})
	}
	return false
}

// command returns the words as rules see them.
func command(args []value) Command {
	var c Command
	for _, v := range args {
		c.Dynamic = c.Dynamic || !v.Known()
		switch {
		case v.rest:
			c.More = true
		case v.split:
			c.Words = append(c.Words, strings.Fields(v.guess)...)
		default:
			c.Words = append(c.Words, v.guess)
		}
		for len(c.Open) < len(c.Words) {
			c.Open = append(c.Open, !v.Known())
		}
	}
	if !c.Dynamic {
		c.Open = nil
	}
	if len(c.Words) == 0 {
		c.Words = []string{""}
	}
	c.Text = strings.Join(c.Words, " ")
	return c
}

// words returns literal values.
func words(list ...string) []value {
	out := make([]value, len(list))
	for i, s := range list {
		out[i] = value{Word: grammar.Literal(s), guess: s}
	}
	return out
}

func toWords(args []value) []grammar.Word {
	out := make([]grammar.Word, len(args))
	for i, v := range args {
		out[i] = v.Word
	}
	return out
}
