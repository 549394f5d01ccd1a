package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell/grammar"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// maxDeny bounds the forms that are listed, maxDenyWrappers the wrappers that
// are taken off; what is deeper is found by suffixes.
const (
	maxDeny         = 20_000
	maxDenyWrappers = 24
	maxSuffixes     = 40
	maxTokens       = 4096 // words of a text that is split; the rest is one
	maxOthers       = 16   // values that a word, or words that a command, may have besides the likely ones
)

// deny adds a command in every form that deny and ask rules should see.
func (a *analyzer) deny(assigns []assignment, args []value) {
	if len(assigns) > 0 {
		c := command(args)
		for _, as := range slices.Backward(assigns) {
			c.Words = append([]string{as.name + "=" + as.value.guess}, c.Words...)
			c.Assigns = append(c.Assigns, as.name)
			if c.Open != nil {
				c.Open = append([]bool{false}, c.Open...)
			}
			if !localName(as.name) {
				a.mayRunText(as.value.guess)
			}
		}
		c.Text = strings.Join(c.Words, " ")
		a.addDeny(c)
	}
	a.checkProgram(args)
	for _, args := range otherwise(args) {
		a.denyWords(args, maxDenyWrappers)
		// A name that is not known may be nothing at all: the next word is run.
		for len(args) > 1 && args[0].Dynamic {
			args = args[1:]
			a.denyWords(args, maxDenyWrappers)
		}
	}
}

// otherwise returns the words with their likely values, and then with the others that they may have.
func otherwise(args []value) [][]value {
	out := [][]value{args}
	for i, v := range args {
		for _, like := range out {
			for _, guess := range v.others {
				if len(out) == maxOthers {
					return out
				}
				other := slices.Clone(like)
				other[i].guess = guess
				out = append(out, other)
			}
		}
	}
	return out
}

func (a *analyzer) addDeny(c Command) {
	key := c.Text
	if c.Dynamic && !c.Maybe {
		c.Source = a.calling
	}
	if c.Maybe || c.Dynamic { // it counts for less, or for more, than the same text
		key = fmt.Sprint(key, unknown, c.Maybe, c.Dynamic, c.Source)
	}
	if len(a.out.Deny) >= maxDeny || a.denied[key] {
		return
	}
	a.denied[key] = true
	a.out.Deny = append(a.out.Deny, c)
}

// denyWords adds the words, and what they run if they are a wrapper.
func (a *analyzer) denyWords(args []value, depth int) {
	for len(args) > 0 && (args[0].guess == "" || args[0].guess == "--") && len(args) > 1 {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	c := command(args)
	a.addDeny(c)
	if slices.ContainsFunc(args, vanishes) { // some word may become nothing, or any other
		standing := slices.Clone(args)
		for i, v := range args {
			standing[i].split = v.split && !vanishes(v)
		}
		a.denyWords(standing, depth)
	}
	key := a.inContext(strings.Join(c.Words, unknown))
	if a.taken[key] {
		return // its inner commands are known; without this, time could double at each level
	}
	a.taken[key] = true
	args = respell(args, c)
	name := args[0].guess
	if base := path.Base(name); strings.Contains(name, "/") && base != "/" && base != "." {
		args = append(words(base), args[1:]...)
		a.addDeny(command(args))
		name = base
	}
	if sub, ok := strings.CutPrefix(name, "git-"); ok { // git keeps its commands as programs, too
		args = append(words("git", sub), args[1:]...)
		a.addDeny(command(args))
		name = "git"
	}
	if depth == 0 {
		a.denySuffixes(args)
		return
	}
	if text, ok := a.aliases[name]; ok {
		a.denyWords(append(words(strings.Fields(text)...), args[1:]...), depth-1)
	}
	a.denyInner(name, args, depth)
}

// vanishes reports whether nothing is known of a word, so that it is left out of a guess.
func vanishes(v value) bool { return v.split && !v.Known() && strings.TrimSpace(v.guess) == "" }

// respell splits the words that a guess says are several.
func respell(args []value, c Command) []value {
	if len(c.Words) == len(args) || c.More && len(c.Words) == len(args)-1 {
		return args
	}
	out := words(c.Words...)
	for i := range out {
		out[i].Dynamic = true
	}
	return out
}

// shells run the operand of -c.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "su", "script", "runuser", "busybox", "toybox", "yash", "tcsh", "csh", "osh", "ysh", "posh", "nu", "elvish", "xonsh"}

// denyInner adds the commands that the program name would run.
func (a *analyzer) denyInner(name string, args []value, depth int) {
	switch {
	case slices.Contains(shells, name):
		a.checkShell(args)
		a.denyShell(args, depth)
	case name == "set":
		if i := slices.IndexFunc(args, func(v value) bool { return v.guess == "--" }); i > 0 {
			a.bindParams(args[i:])
		}
	case name == "alias":
		a.denyAlias(args, depth)
	case name == "eval":
		a.fed = a.fed || slices.ContainsFunc(args, func(v value) bool { return v.output })
		if script := joinGuesses(args[1:]); strings.ContainsAny(script, "=\"'\\$`;&|<>(){}\n#") {
			a.denyScript(script, depth)
		} else {
			inner := words(strings.Fields(script)...)
			a.denyWords(inner, depth-1)
			a.critical(inner)
		}
	case name == "trap" || name == "pwsh" || name == "watch" || name == "flock":
		a.denyTexts(args[1:], depth)
	case name == "git":
		a.denyGit(args, depth)
	case name == "sed" || name == "gsed":
		a.denySed(args, depth)
	case (name == "source" || name == ".") && len(args) > 1 && strings.HasPrefix(args[1].guess, "/dev/"):
		a.fed = true
	case name == "find" || name == "fd" || name == "fdfind":
		a.denyExec(args, depth)
	case name == "env":
		a.denyEnvSplit(args, depth)
	}
	a.mayRun(name, args)
	fields := append([]string{name}, strings.Fields(joinGuesses(args[1:]))...)
	if last := args[len(args)-1]; last.rest { // words that may be any
		fields = append(fields, unknown)
	}
	a.alsoRemoves(fields)
	a.denyLoose(name, args, depth)
	a.denyFlags(name, args, depth)
	if inner, exact := a.peelGuess(name, args); inner != nil {
		if name == "xargs" {
			inner = withInput(args, inner)
		}
		a.denyWords(inner, depth-1)
		if !exact {
			a.denySuffixes(inner)
		}
	}
}

// denyAlias notes what names stand for.
func (a *analyzer) denyAlias(args []value, depth int) {
	for _, v := range args[1:] {
		if name, text, ok := strings.Cut(v.guess, "="); ok {
			a.denyScript(text, depth)
			if a.aliases == nil {
				a.aliases = map[string]string{}
			}
			a.aliases[name] = text
		}
	}
}

// denyFlags adds the scripts that flags of a program name.
func (a *analyzer) denyFlags(name string, args []value, depth int) {
	for i, v := range args[1:] {
		for _, flag := range scriptFlags[name] {
			rest, ok := strings.CutPrefix(v.guess, flag)
			if ok && rest == "" && i+2 < len(args) {
				rest = args[i+2].guess
			}
			if rest = strings.TrimPrefix(rest, "="); ok && rest != "" {
				a.denyScript(strings.TrimPrefix(rest, "exec="), depth)
			}
		}
	}
}

// scriptFlags of a program are followed by a script.
var scriptFlags = map[string][]string{
	"tar":   {"-I", "--use-compress-program", "--to-command", "--checkpoint-action=exec", "--checkpoint-action", "-F", "--info-script", "--new-volume-script", "--rsh-command"},
	"rsync": {"-e", "--rsh", "--rsync-path"}, "sort": {"--compress-program"}, "rg": {"--pre"}, "man": {"-P", "--pager"},
}

func (a *analyzer) denySed(args []value, depth int) {
	for _, v := range args[1:] {
		for _, m := range sedExec.Get().FindAllStringSubmatch(v.guess, 8) {
			a.denyScript(m[1], depth)
		}
	}
}

// sedExec finds the command e of a sed script.
var sedExec = lazyregexp.New(`(?:^|[;{}\n0-9$/!])\s*e\s+([^\n]+)`)

// peelWindow is how many words of a command are looked at for a wrapper.
const peelWindow = 64

// peelGuess takes a wrapper off, taking guesses for values, and reports
// whether all of its flags were understood. It returns nil if there is none.
func (a *analyzer) peelGuess(name string, args []value) (inner []value, exact bool) {
	window := make([]grammar.Word, min(len(args), peelWindow))
	for i := range window {
		window[i] = grammar.Literal(args[i].guess)
	}
	window[0] = grammar.Literal(name)
	p, ok := a.table.Peel(window)
	if !ok {
		return nil, false
	}
	return args[len(window)-len(p.Words):], p.Exact
}

// denySuffixes adds what begins at each word that is no flag: the wrapper in
// front was not understood, so the command may start anywhere.
func (a *analyzer) denySuffixes(args []value) {
	for i := 1; i < len(args) && i <= maxSuffixes; i++ {
		if !strings.HasPrefix(args[i].guess, "-") {
			a.addDeny(command(args[i:]))
		}
	}
}

// denyExec adds the commands of find -exec and fd -x.
func (a *analyzer) denyExec(args []value, depth int) {
	for i := 1; i < len(args); i++ {
		switch args[i].guess {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			rest := args[i+1:]
			if end := slices.IndexFunc(rest, endsExec); end >= 0 {
				rest = rest[:end]
			}
			a.checkProgram(fill(rest, "{}", "{/}", "{//}", "{.}", "{/.}"))
			a.denyWords(rest, depth-1)
			a.critical(rest)
		}
	}
}

// endsExec reports whether a word ends the command of -exec; the next -exec
// does if nothing else did.
func endsExec(v value) bool {
	return v.guess == ";" || v.guess == "+" || strings.HasPrefix(v.guess, "-exec")
}

// denyEnvSplit adds the commands of env -S and of env -.
func (a *analyzer) denyEnvSplit(args []value, depth int) {
	for i, v := range args[1:] {
		s := v.guess
		if s == "-" {
			a.denyWords(args[i+2:], depth-1)
		}
		if strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "--") && strings.Contains(s, "S") {
			s = "-" + s[strings.Index(s, "S"):] // -vS is -v -S
		}
		for _, flag := range []string{"-S", "--split-string=", "--split-string"} {
			script, ok := strings.CutPrefix(s, flag)
			if !ok {
				continue
			}
			text := v
			if script == "" && v.Known() && i+2 < len(args) {
				text = args[i+2]
				script = text.guess
			}
			script = strings.ReplaceAll(script, `\_`, " ")
			text.Shape = strings.ReplaceAll(strings.TrimPrefix(text.Shape, flag), `\_`, " ")
			a.checkScript(text)
			a.denyScript(script, depth)
			break
		}
	}
}

// denyScript adds the commands of a script inside a word.
func (a *analyzer) denyScript(script string, depth int) {
	key := a.inContext("\n" + script) // no command text begins with a newline
	if a.taken[key] {
		return
	}
	a.taken[key] = true
	if depth == 0 || len(script) > maxParsed || a.nested >= maxWrappers {
		a.denyTokens(script)
		return
	}
	safe := parseable(script)
	if !safe && len(script) > maxBytes {
		a.unseen("a script in it cannot be read")
		a.denyTokens(script)
		return
	}
	file, err := parse(script)
	if hidden := hidesText(script); err != nil || !safe || hidden {
		a.denyTokens(script)
		if safe && !hidden {
			a.denyBeforeError(script) // eval and sh -c run the lines before it, too
		}
		return
	}
	a.nested++
	a.noteLiterals(file.Stmts)
	a.noteEvaluated(file.Stmts)
	a.subshell(func() { a.stmts(file.Stmts) })
	a.nested--
}

func joinGuesses(args []value) string {
	var list []string
	for _, v := range args {
		list = append(list, v.guess)
	}
	return strings.Join(list, " ")
}

// unreadable handles a command that cannot be parsed.
func (a *analyzer) unreadable(command, reason string) {
	a.refuse(reason)
	a.unseen(reason)
	a.denyTokens(command)
}

// denyBeforeError adds the commands in front of a syntax error: bash runs the
// lines before it.
func (a *analyzer) denyBeforeError(command string) {
	before := parseBeforeError(command)
	a.nested++
	a.noteLiterals(before)
	a.subshell(func() { a.stmts(before) })
	a.nested--
}

// separators split a text into what may be commands.
var separators = lazyregexp.New("[;&|\n\r()`{}]+|\\$\\(|<\\(|>\\(")

// spellings are removed to find the words of a command.
var spellings = strings.NewReplacer(`"`, "", `'`, "", `\`, "", "$", "")

// redirections and $'…' are taken out of a text before it is split.
var (
	redirections = lazyregexp.New(`&>>?|[0-9]*[<>]+[&|]?[0-9-]*`)
	ansiQuotes   = lazyregexp.New(`\$'(?:[^'\\]|\\.)*'`)
)

// denyTokens adds commands by splitting a text at everything that might
// separate commands, quotes or not. It finds too many rather than too few.
func (a *analyzer) denyTokens(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	// A backslash before a newline joins lines, but not in a comment.
	text = ansiQuotes.ReplaceAllStringFunc(text, func(s string) string {
		s, _ = ansiC(s[2 : len(s)-1])
		return s
	})
	text = redirections.ReplaceAllString(text, " ")
	both := []string{text, strings.ReplaceAll(text, "\\\n", "")}
	for _, part := range separators.Get().Split(strings.Join(slices.Compact(both), "\n"), -1) {
		fields := strings.FieldsFunc(spellings.Replace(part), func(r rune) bool { return r <= ' ' || isInvisible(r) })
		for len(fields) > 1 && skippable(fields[0]) {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			continue
		}
		if len(fields) > maxTokens {
			fields = append(fields[:maxTokens:maxTokens], strings.Join(fields[maxTokens:], " "))
		}
		list := words(fields...)
		a.critical(list)
		if len(a.out.Deny) >= maxDeny {
			continue
		}
		a.denyWords(list, 1)
		if strings.Contains(fields[0], ",") { // braces
			a.denyWords(words(append(strings.Split(fields[0], ","), fields[1:]...)...), 1)
		}
	}
}

var assignLike = lazyregexp.New(`^[A-Za-z_][A-Za-z_0-9]*(\[[^]]*\])?\+?=`)

// skippable reports whether a word in front of a command is not its name.
func skippable(s string) bool {
	return assignLike.MatchString(s) || slices.Contains([]string{"!", "if", "then", "else", "elif", "do", "while", "until", "time", "coproc", "function", "in", "case"}, s) ||
		strings.HasPrefix(s, "#") || strings.HasPrefix(s, ">") || strings.HasPrefix(s, "<")
}
