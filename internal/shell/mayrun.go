package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// Many programs run commands that stand in a text which only they can read: awk, perl, make and
// editors. What looks like a command there is noted as one that may run.

// textRunners are such programs, without versions.
var textRunners = strings.Fields(`awk gawk mawk nawk perl python pypy ipython node nodejs deno bun tsx ts-node ruby irb php lua luajit tclsh expect julia Rscript osascript pwsh
	make gmake bmake just ninja ed ex vi vim nvim view emacs split csplit tar sqlite3 gnuplot m4 cmake ctest gdb lldb dc crontab at batch`)

// fileRunners take what they run from files that they find themselves.
var fileRunners = strings.Fields("npm npx pnpm yarn bun go cargo rake gradle gradlew mvn ant tox nox pytest pre-commit task run-parts")

// manyInOne are programs whose first operand says which of many things they do.
var manyInOne = strings.Fields(`git hg svn jj gh glab npm pnpm yarn cargo go rustup pip pip3 poetry conda gem bundle composer dotnet mvn gradle gradlew bazel
	docker-compose kubectl helm oc terraform tofu pulumi aws gcloud az gsutil fly flyctl heroku vercel netlify wrangler firebase
	apt apt-get dnf yum pacman apk brew snap flatpak nix systemctl launchctl ip nmcli adb`)

// HasSubcommands reports whether the first operand of a program says which of many things it does.
func HasSubcommands(program string) bool { return slices.Contains(manyInOne, program) }

// quoters take text for people to read, so that what looks like a command in it is none.
var quoters = strings.Fields("git gh glab echo printf grep egrep fgrep rg ag ack curl notify-send logger read test [ [[ case jq")

// mayRun notes what a program may run, or may make another name for.
func (a *analyzer) mayRun(name string, args []value) {
	switch plain := strings.TrimRight(name, "0123456789."); {
	case slices.Contains(textRunners, plain) || slices.Contains(textRunners, name):
		for _, v := range args[1:] {
			a.mayRunText(v.guess)
			a.feed(v.guess)
			if startsUnknown(plain, v.guess) {
				a.unseen("it runs code that may start any program")
			}
		}
		if a.piped || slices.ContainsFunc(args, isProcSubstValue) {
			a.fedText = plain
		}
		a.runsFiles = true
	case name == "sed" || name == "gsed":
		for _, v := range args[1:] {
			script := strings.ReplaceAll(v.guess, "/", "\n")
			if a.feed(script); sedRuns.MatchString(v.guess) {
				a.mayRunText(script)
				a.fedText = name
			}
			if strings.HasPrefix(v.guess, "-f") || strings.HasPrefix(v.guess, "--file") { // with a script from its input, or one that was written before
				a.fedText, a.runsFiles = name, true
			}
		}
	case slices.Contains(fileRunners, name), slices.Contains(shells, name):
		a.runsFiles = true
		for _, v := range args[1:] {
			a.fed = a.fed || isProcSubst(v.Word)
			if name == "npx" && strings.ContainsAny(v.guess, " \t\n;|&") {
				a.denyScript(v.guess, maxDenyWrappers)
			}
		}
	case name == "source" || name == ".":
		a.runsFiles = true
	case name == "git" && slices.ContainsFunc(args, func(v value) bool { return strings.Contains(strings.ToLower(v.guess), "hook") }):
		a.runsFiles = true
	case !slices.Contains(quoters, name):
		for i, v := range args[1:] {
			a.mayRunText(v.guess)
			if i < maxSuffixes && !a.table.Knows(name) && !HasSubcommands(name) { // it may start any of its operands
				a.maybe(strings.Fields(joinGuesses(args[1+i:])))
			}
		}
	}
	if slices.Contains(copiers, name) || !a.table.Knows(name) && !isLoose(name) && len(args) > 2 {
		a.checkCopied(args[1:])
	}
	a.writes = a.writes || slices.Contains(writers, name)
}

func isProcSubstValue(v value) bool { return isProcSubst(v.Word) }

// writers write their input, or what their operands say, to a file that they name.
var writers = strings.Fields("tee dd sed gsed perl cp mv ln install patch ed ex vim python python3 sponge truncate mkfifo split gcc cc g++ c++ clang clang++ tcc rustc ld")

// copiers give a file another name.
var copiers = strings.Fields("ln cp mv install link dd rsync tar ditto")

// checkCopied notes that a program may get another name.
func (a *analyzer) checkCopied(operands []value) {
	if a.indirect && a.located() || slices.ContainsFunc(operands, a.isProgramFile) {
		a.unseen("it gives a program another name")
	}
}

// isProgramFile reports whether a word is a path in a folder of programs of the machine.
func (a *analyzer) isProgramFile(v value) bool {
	name := v.guess[strings.LastIndexByte(v.guess, '=')+1:] // dd if=/bin/x
	if name == "" || strings.HasPrefix(name, "-") {
		return false
	}
	return slices.ContainsFunc(a.dirs, func(dir string) bool { return programFile.MatchString(join(dir, name)) })
}

// startsUnknown reports whether code in some language starts a program that is not written out
// in it.
func startsUnknown(program, code string) bool {
	if strings.HasSuffix(program, "make") && recipeStart.MatchString(code) {
		return true
	}
	if strings.HasSuffix(program, "awk") && awkPipe.MatchString(code) {
		return true
	}
	if hasBackquotes(program) && (backquoted.MatchString(code) || openedPipe.MatchString(code)) {
		return true
	}
	calls := len(starts.Get().FindAllString(code, -1))
	literal := 0
	for _, at := range startsLiteral.Get().FindAllStringIndex(code, -1) {
		if rest := strings.TrimLeft(code[at[1]:], " ])"); code[at[1]-1] != ']' || !strings.HasPrefix(rest, "+") { // which makes a longer list
			literal++
		}
	}
	return calls == 0 && startModules.MatchString(code) || startsPrograms.MatchString(code) && calls > literal
}

// hasBackquotes reports whether what is between backquotes is a command, to a language.
func hasBackquotes(program string) bool {
	return slices.Contains([]string{"perl", "ruby", "irb", "php"}, program)
}

var (
	recipeStart    = lazyregexp.New(`(?m)^(?:\t|[^\n:=]*:[^\n=;]*;)[\t @+-]*\$+[({\w]`) // which names the program
	awkPipe        = lazyregexp.New(`[^|]\|&?\s*(?:getline|"(?:/bin/)?(?:ba|da)?sh")`)
	backquoted     = lazyregexp.New("`[^`]*[$@][^`]*`")
	openedPipe     = lazyregexp.New(`\bopen\b[^;]*["'](?:-\||\|-)["']`)
	startModules   = lazyregexp.New(`\b(?:subprocess|child_process|ctypes|pty)\b`)
	startsPrograms = lazyregexp.New(`\b(?:system|exec[lvpe]*|exec(?:File)?Sync|execFile|exec\.Command|popen[234]?|open[23]|readpipe|Popen|spawn\w*|subprocess|child_process|shell_exec|passthru|qx|syscall)\b`)
	starts         = lazyregexp.New(startNames + `\s*(?:\(\s*[^)\s]|["'\[$@{]|q[qwx]?\W)`)
	startsLiteral  = lazyregexp.New(startNames + `\s*[(\[\s]*` + literals + `(?:\s*,\s*[\[\s]*` + literals + `)*\s*(?:$|[\]);}\n]|,\s*(?:\{|\w+\s*=|\w+\)))`)
)

const (
	startNames = `\b(?:system|exec[lvpe]*|execFile|execSync|execFileSync|exec\.Command|popen|open[23]|readpipe|Popen|spawn\w*|run|call|check_output|check_call|getoutput|shell_exec|passthru|syscall)`
	literals   = `(?:"[^"$]*"|'[^'$]*')` // what is behind $ is put in by the language, or by a shell
)

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
	text = recipePrefix.ReplaceAllString(text, "$1")
	var joined []string
	var begins []int // of the parts in them
	for _, part := range separators.Get().Split(quotations.Replace(text), -1) {
		fields := strings.Fields(spellings.Replace(part))
		for len(fields) > 1 && skippable(fields[0]) {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			continue
		}
		for len(fields) > 1 && startsNext(fields[0]) {
			fields = fields[1:]
		}
		begins = append(begins, len(joined))
		joined = append(joined, fields...)
		a.maybe(fields)
	}
	for _, i := range begins[:min(len(begins), maxTexts)] { // ["git", "push"]
		a.maybe(joined[i:min(len(joined), i+maxSuffixes)])
	}
}

// recipePrefix is what may stand before a command in a recipe of make.
var recipePrefix = lazyregexp.New(`(?m)(^\t|;)[@+ -]+`)

// startsNext reports whether a word says that what follows is run. Commands of sqlite3 may be cut short.
func startsNext(word string) bool {
	if short, ok := strings.CutPrefix(word, "."); ok && len(short) > 1 && (strings.HasPrefix("shell", short) || strings.HasPrefix("system", short)) {
		return true
	}
	return slices.Contains(startWords, strings.TrimLeft(word, "/#.:@"))
}

// startWords say so in many languages.
var startWords = strings.Fields("shell exec system spawn run call sh popen COMMAND execute_process pipe go:generate")

func (a *analyzer) maybe(fields []string) {
	if len(fields) == 0 || strings.HasPrefix(fields[0], "-") {
		return
	}
	fields = append([]string{path.Base(fields[0])}, fields[1:]...)
	if sub, ok := strings.CutPrefix(fields[0], "git-"); ok {
		fields = append([]string{"git", sub}, fields[1:]...)
	}
	c := command(words(fields...))
	c.Maybe = true
	a.addDeny(c)
	a.alsoRemoves(fields)
	if i := slices.Index(fields, "-S"); i > 0 && fields[0] == "env" {
		a.maybe(fields[i+1:])
	}
	if inner, _ := a.peelGuess(fields[0], words(fields...)); len(inner) > 0 && len(inner) < len(fields) {
		a.maybe(strings.Fields(joinGuesses(inner)))
	}
}

// alsoRemoves notes what does the same as rm: a rule about that may be about files.
func (a *analyzer) alsoRemoves(fields []string) {
	has := func(flags ...string) bool {
		return slices.ContainsFunc(fields, func(s string) bool { return slices.Contains(flags, s) })
	}
	switch fields[0] {
	case "unlink", "trash", "trash-put", "srm":
	case "shred":
		if !has("-u", "--remove") && !slices.ContainsFunc(fields[1:], func(s string) bool {
			return strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "--") && strings.Contains(s, "u")
		}) {
			return
		}
	case "find", "fd", "fdfind":
		if !has("-delete", unknown) {
			return
		}
	case "git":
		i := GitCommand(fields)
		if i >= len(fields) || has("--cached", "-n", "--dry-run") || fields[i] != "rm" && fields[i] != "clean" {
			return
		}
		fields = fields[i:]
	default:
		return
	}
	fields = slices.DeleteFunc(slices.Clone(fields[1:]), func(s string) bool { return s == unknown })
	c := command(words(append([]string{"rm"}, fields...)...))
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
