package shell

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"mvdan.cc/sh/v3/syntax"
)

// scriptSets reports whether a variable has a name that bash itself does not set.
func scriptSets(name string) bool {
	return identifier.MatchString(name) && !strings.HasPrefix(name, "BASH") && !strings.HasPrefix(name, "COMP_") && !slices.Contains(setByBash, name)
}

var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z_0-9]*$`)

// setByBash are variables that bash sets while it runs.
var setByBash = strings.Fields("_ REPLY IFS PWD OLDPWD DIRSTACK FUNCNAME PIPESTATUS LINENO RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME HISTCMD OPTARG OPTIND MAPFILE COPROC GROUPS SHELLOPTS UID EUID PPID READLINE_LINE")

// plain reports whether an expansion is $x or ${x}.
func plain(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil && p.NestedParam == nil && len(p.Modifiers) == 0
}

// matches reports whether text may stand for files where it is not quoted.
func matches(s string) bool { return strings.ContainsAny(s, `*?[\(`) }

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

// outputGuess returns what a lone echo or printf of literals prints, and a name like those that
// mktemp makes.
func (a *analyzer) outputGuess(stmts []*syntax.Stmt) string {
	if len(stmts) != 1 {
		return ""
	}
	call, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	name := call.Args[0].Lit()
	if name == "mktemp" && !strings.Contains(strings.Join(strings.Fields(a.source), ""), "mktemp(") && strings.Count(a.source, "alias") == 0 {
		return temporaryName(call.Args[1:])
	}
	if name != "echo" && name != "printf" || slices.ContainsFunc(call.Args, func(w *syntax.Word) bool { return !fixed(w) }) {
		return ""
	}
	return printed(a.values(call.Args...))
}

// temporaryName is where mktemp makes a file or a folder that was not there; "" if that may not
// be a temporary directory of the machine.
func temporaryName(args []*syntax.Word) string {
	const somewhere = "/tmp/tmp.XXXXXXXXXX"
	name := somewhere
	for _, w := range args {
		switch word := w.Lit(); {
		case word == "-d" || word == "-q" || word == "-t" || word == "--directory" || word == "-dt":
		case name == somewhere && strings.HasPrefix(word, "/tmp/") && !strings.Contains(word, ".."):
			name = word
		case name == somewhere && word != "" && word[0] != '-' && !strings.Contains(word, "/") && slices.ContainsFunc(args, func(w *syntax.Word) bool { return strings.HasSuffix(w.Lit(), "t") && strings.HasPrefix(w.Lit(), "-") }):
		default:
			return ""
		}
	}
	return name
}

// text returns the source of a node, "" inside a nested script.
func (a *analyzer) text(node syntax.Node) string {
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	if a.nested > 0 || from > to || to > len(a.source) {
		return ""
	}
	return a.source[from:to]
}
