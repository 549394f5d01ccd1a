package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/lazyregexp"
)

// harmless variables hold no secret: they may be printed.
var harmless = []string{
	"PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "HOSTNAME", "HOSTTYPE", "MACHTYPE", "OSTYPE", "UID", "EUID", "PPID", "GROUPS", "RANDOM", "SRANDOM",
	"SECONDS", "EPOCHSECONDS", "LINENO", "COLUMNS", "LINES", "BASH_VERSION", "BASHPID", "SHLVL", "PWD", "OLDPWD", "HOME", "TMPDIR", "EDITOR", "PAGER", "VISUAL", "GOPATH", "GOROOT", "PIPESTATUS",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "NVM_DIR", "DISPLAY", "CI", "NODE_ENV",
	"?", "$", "!", "#",
}

// guesses are likely values of variables that are not known.
var guesses = map[string]string{"BASH": "bash", "0": "bash", "SHELL": "bash", "IFS": " "}

// param adds the value of a parameter expansion.
func (b *builder) param(p *syntax.ParamExp, inQuotes bool) {
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	bound, isBound := b.a.vars[name]
	if !plain(p) {
		b.expansion(p, isBound && bound.sure || isHarmless(name), inQuotes)
		return
	}
	if isBound && bound.sure && bound.value.Known() {
		b.v.param = true
		b.boundText(bound.value.Value, inQuotes)
		return
	}
	defer b.otherwise(b.guess.String(), b.a.literals[name])
	switch {
	case isBound:
		b.boundUnknown(bound, name, inQuotes)
	case name == "HOME":
		b.home("$HOME")
	case name == "PWD" && len(b.a.dirs) == 1 && strings.HasPrefix(b.a.dirs[0], "/"):
		b.text(b.a.dirs[0])
	default:
		if !isHarmless(name) {
			b.refuse("the value of $" + name + " may be a secret")
		}
		made := b.made
		b.unknown(guesses[name], !inQuotes || name == "@")
		b.made = made || b.a.assigned[name] > 0 || b.a.looped[name] || !scriptSets(name)
	}
}

// scriptSets reports whether a variable has a name that bash itself does not set.
func scriptSets(name string) bool {
	return identifier.MatchString(name) && !strings.HasPrefix(name, "BASH") && !strings.HasPrefix(name, "COMP_") && !slices.Contains(setByBash, name)
}

var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z_0-9]*$`)

// setByBash are variables that bash sets while it runs.
var setByBash = strings.Fields("_ REPLY IFS PWD OLDPWD DIRSTACK FUNCNAME PIPESTATUS LINENO RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME HISTCMD OPTARG OPTIND MAPFILE COPROC GROUPS SHELLOPTS UID EUID PPID READLINE_LINE")

// otherwise notes, after a variable was added to a word that began so, what the word is if the variable has
// another value that the script gives it.
func (b *builder) otherwise(began string, literals []string) {
	for _, s := range literals {
		if s = began + s; s != b.guess.String() && len(b.others) < maxOthers {
			b.others = append(b.others, s)
		}
	}
}

// plain reports whether an expansion is $x or ${x}.
func plain(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil && p.NestedParam == nil && len(p.Modifiers) == 0
}

func isHarmless(name string) bool {
	return slices.Contains(harmless, name) || strings.HasPrefix(name, "LC_")
}

// boundText adds the known value of a variable, which may split outside quotes.
func (b *builder) boundText(s string, inQuotes bool) {
	if inQuotes || s != "" && !strings.ContainsAny(s, " \t\n*?[\\") {
		b.text(s)
		return
	}
	doubt := b.doubt
	b.unknown(s, true)
	b.doubt = doubt || matches(s)
}

// matches reports whether text may stand for files where it is not quoted.
func matches(s string) bool { return strings.ContainsAny(s, `*?[\(`) }

// boundUnknown adds a variable of which only a pattern or a guess is known.
func (b *builder) boundUnknown(bound binding, name string, inQuotes bool) {
	if !bound.sure && !bound.data {
		b.refuse("the value of $" + name + " is not known")
	}
	if bound.value.refuse != "" {
		b.refuse(bound.value.refuse)
	}
	b.v.output = b.v.output || bound.value.output || bound.data
	if doubt := b.doubt; bound.once {
		defer func() { b.doubt = doubt || !inQuotes && matches(bound.value.guess) }()
	}
	word, starts := bound.value.Word, b.known.Len() == 0
	if bound.sure && inQuotes && word.Value != "" {
		b.text(word.Value) // what the pattern begins with
	}
	if bound.data || word.Wild || word.Pattern != "" {
		b.wild(bound.value.guess, !inQuotes || name == "@", starts && (word.Listed || word.Pattern != "" && below(word.Pattern)))
	} else {
		b.unknown(bound.value.guess, !inQuotes || name == "@")
	}
	if rest, ok := strings.CutPrefix(bound.value.Shape, bound.value.Value); ok && bound.sure {
		b.shape.WriteString(rest)
	}
}

// expansion adds ${x…} with an operator. Only those that trim or replace a
// variable that may be printed by a literal are read-only.
func (b *builder) expansion(p *syntax.ParamExp, printable, inQuotes bool) {
	b.a.searchNested(p)
	ok := printable && p.Param != nil && !p.Excl && !p.Width && !p.IsSet && p.Flags == nil && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 &&
		p.NestedParam == nil && len(p.Modifiers) == 0 && (p.Exp == nil || trims(p.Exp))
	if !ok {
		b.refuse("a parameter expansion with an operator")
	}
	guess := ""
	if p.Exp != nil && p.Exp.Word != nil && fixed(p.Exp.Word) {
		guess = b.a.value(p.Exp.Word).guess
	}
	b.unknown(guess, !inQuotes)
}

// trims reports whether an operator cuts a literal off or changes case.
func trims(e *syntax.Expansion) bool {
	switch e.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return e.Word == nil || isLiteral(e.Word)
	}
	return false
}

// isLiteral reports whether nothing in a word is expanded.
func isLiteral(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
		case *syntax.SglQuoted:
			if p.Dollar {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// cmdSubst adds the output of a command.
func (b *builder) cmdSubst(p *syntax.CmdSubst, inQuotes bool) {
	if p.TempFile || p.ReplyVar {
		b.refuse("a command substitution from another shell")
	}
	if p.Backquotes && strings.Contains(b.a.text(p), `\`) {
		b.refuse("a backslash inside backquotes")
	}
	if len(p.Stmts) == 0 {
		b.refuse("an empty command substitution")
	}
	b.a.subshell(func() { b.a.stmts(p.Stmts) })
	if text, ok := literalHeredoc(p); ok && inQuotes {
		b.text(text)
		return
	}
	b.v.output = true
	if b.a.printsPlace(p.Stmts) {
		b.unknown("", !inQuotes)
		return
	}
	b.wild(b.a.outputGuess(p.Stmts), !inQuotes, b.known.Len() == 0 && b.a.lists(p.Stmts))
}

// plainDelimiter is one that every shell finds the end of.
var plainDelimiter = lazyregexp.New(`^[A-Za-z_]+$`)

// literalHeredoc returns what $(cat <<'EOF' …) becomes: the text of a here-document
// in which nothing is expanded.
func literalHeredoc(p *syntax.CmdSubst) (string, bool) {
	if p.Backquotes || len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) != 1 || p.Stmts[0].Background || p.Stmts[0].Negated {
		return "", false
	}
	call, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	r := p.Stmts[0].Redirs[0]
	if !ok || len(call.Args) != 1 || len(call.Assigns) > 0 || call.Args[0].Lit() != "cat" || r.Op != syntax.Hdoc || r.N != nil || len(r.Word.Parts) != 1 {
		return "", false
	}
	quoted, ok := r.Word.Parts[0].(*syntax.SglQuoted)
	if !ok || quoted.Dollar || !plainDelimiter.MatchString(quoted.Value) || r.Hdoc == nil {
		return "", false
	}
	return strings.TrimRight(r.Hdoc.Lit(), "\n"), r.Hdoc.Lit() != ""
}

func (b *builder) procSubst(p *syntax.ProcSubst) {
	if p.Op != syntax.CmdIn {
		b.refuse("a process substitution that is written to")
	}
	b.a.subshell(func() { b.a.stmts(p.Stmts) })
	if len(p.Stmts) == 0 {
		b.refuse("an empty process substitution")
	}
	b.text("/dev/fd/")
	b.unknown("63", false)
}

// arithm adds the result of $((…)).
func (b *builder) arithm(p *syntax.ArithmExp, inQuotes bool) {
	if p.Bracket || p.Unsigned || !literalArithm(p.X) {
		b.a.searchNested(p)
		b.refuse("arithmetic on something other than a plain number")
	}
	b.unknown("0", !inQuotes)
}

// literalArithm reports whether an expression is made of numbers alone.
func literalArithm(e syntax.ArithmExpr) bool {
	switch x := e.(type) {
	case *syntax.Word:
		s := x.Lit()
		return s != "" && strings.Trim(s, "0123456789") == ""
	case *syntax.ParenArithm:
		return literalArithm(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && literalArithm(x.X)
	case *syntax.BinaryArithm:
		switch x.Op {
		case syntax.Add, syntax.Sub, syntax.Mul, syntax.Quo, syntax.Rem, syntax.Pow, syntax.Eql, syntax.Neq, syntax.Lss, syntax.Gtr, syntax.Leq, syntax.Geq:
			return literalArithm(x.X) && literalArithm(x.Y)
		}
	}
	return false
}

// searchNested walks the commands inside a node that is not understood.
func (a *analyzer) searchNested(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			a.subshell(func() { a.stmts(n.Stmts) })
			return false
		case *syntax.ProcSubst:
			a.subshell(func() { a.stmts(n.Stmts) })
			return false
		}
		return true
	})
}

// outputGuess returns what a lone echo or printf of literals prints.
func (a *analyzer) outputGuess(stmts []*syntax.Stmt) string {
	if len(stmts) != 1 {
		return ""
	}
	call, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 {
		return ""
	}
	name := call.Args[0].Lit()
	if name != "echo" && name != "printf" || slices.ContainsFunc(call.Args, func(w *syntax.Word) bool { return !fixed(w) }) {
		return ""
	}
	return printed(a.values(call.Args...))
}

// text returns the source of a node, "" inside a nested script.
func (a *analyzer) text(node syntax.Node) string {
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	if a.nested > 0 || from > to || to > len(a.source) {
		return ""
	}
	return a.source[from:to]
}
