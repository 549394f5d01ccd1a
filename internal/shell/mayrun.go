package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
)

// Many programs run commands that stand in a text which only they can read: awk, perl, make and
// editors. What looks like a command there is noted as one that may run.

// textRunners are such programs, without versions.
var textRunners = strings.Fields(`awk gawk mawk nawk perl python pypy ipython node nodejs deno bun tsx ts-node ruby irb php lua luajit tclsh expect julia Rscript osascript pwsh
	make gmake bmake just ninja ed ex vi vim nvim view emacs split csplit tar sqlite3 gnuplot m4 cmake ctest gdb lldb dc crontab at batch`)

// mayRun notes what a program may run, or may make another name for.
func (a *analyzer) mayRun(name string, args []value) {
	switch plain := strings.TrimRight(name, "0123456789."); {
	case slices.Contains(textRunners, plain):
		for _, v := range args[1:] {
			a.mayRunText(v.guess)
		}
		a.fedText = a.fedText || a.piped
	case name == "sed" || name == "gsed":
		for _, v := range args[1:] {
			if sedRuns.MatchString(v.guess) {
				a.mayRunText(strings.ReplaceAll(v.guess, "/", "\n"))
				a.fedText = true
			}
		}
	case name == "ln" || name == "cp" || name == "mv" || name == "install" || name == "link":
		if a.indirect && a.located() || slices.ContainsFunc(args[1:], func(v value) bool { return programFile.MatchString(v.guess) }) {
			a.unseen("it gives a program another name")
		}
	}
}

// sedRuns finds a script of sed with the command e, or with the flag e of the command s.
var sedRuns = lazyregexp.New(`(?:^|[;{}\n0-9$/!])\s*e\s*(?:$|[;}\n])|[/|#,@][gpiImM0-9]*e[gpiImM0-9]*\s*(?:$|[;}\n])`)

// programFile finds a path in a folder of programs of the machine.
var programFile = lazyregexp.New(`^/(?:usr/)?(?:local/)?(?:s?bin|lib(?:exec)?/git-core)/[^/]`)

// located reports whether some command prints where a program is.
func (a *analyzer) located() bool {
	return slices.ContainsFunc(a.out.Deny, func(c Command) bool {
		return slices.Contains([]string{"which", "whereis", "command", "type", "realpath", "readlink"}, c.Words[0])
	})
}

// quotations end what may be a command in a text that is no script of a shell.
var quotations = strings.NewReplacer(`"`, "\n", "'", "\n", ",", "\n", "!", "\n", "=", "\n", "[", "\n", "]", "\n")

// mayRunText notes the commands that a text may have a program run. A plain word is none.
func (a *analyzer) mayRunText(text string) {
	if !strings.ContainsAny(text, " \t\n;|&(){}\"'`!=") {
		return
	}
	var joined []string
	for _, part := range separators.Get().Split(quotations.Replace(text), -1) {
		fields := strings.Fields(spellings.Replace(part))
		for len(fields) > 1 && skippable(fields[0]) {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			continue
		}
		fields[0] = path.Base(fields[0])
		joined = append(joined, fields...)
		a.maybe(fields)
	}
	for i := range joined { // ["git", "push"]
		if i < maxTexts && slices.Contains([]string{"git", "sudo", "env"}, joined[i]) {
			a.maybe(joined[i:min(len(joined), i+maxSuffixes)])
		}
	}
}

func (a *analyzer) maybe(fields []string) {
	c := command(words(fields...))
	c.Maybe = true
	a.addDeny(c)
}

// checkWritten looks at the script that a word names: if the command itself has written it, what
// was written will run.
func (a *analyzer) checkWritten(v value) {
	plain, ok := a.written[path.Clean(v.guess)]
	if !ok {
		return
	}
	if a.fed = true; !plain {
		a.unseen("it runs a script that it has written before")
	}
}
