package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Arithmetic, subscripts and some builtins evaluate the text that they get: $(…) in it is run,
// even if the text was quoted or comes from a variable.

// noteEvaluated notes text in a script that bash would evaluate, and which builtins set variables
// by name. What a file or another program supplies is not looked for, as what scripts in files
// do is not.
func (a *analyzer) noteEvaluated(script []*syntax.Stmt) {
	e := evaluated{}
	for _, st := range script {
		syntax.Walk(st, e.visit)
	}
	if e.functions {
		e.planted = append(e.planted, e.given...)
	}
	a.planted += strings.Join(e.planted, "")
	a.evaluates = a.evaluates || e.evaluates
	a.setsByName = a.setsByName || e.sets
	for _, text := range e.operands {
		if strings.ContainsAny(text, "$`") {
			a.unseen("text in it is evaluated as a command")
			a.denyScript(text, maxDenyWrappers)
		}
	}
	if a.evaluates && strings.ContainsAny(a.planted, "$`") {
		a.unseen("the text in a variable may be evaluated as a command")
	}
	if e.renames {
		a.unseen("it gives a program another name")
	}
}

// An evaluated collects what a script evaluates.
type evaluated struct {
	operands  []string // quoted text in what is evaluated
	planted   []string // literal text that variables may get
	given     []string // literal words of commands, which functions get
	evaluates bool     // something evaluates what is in a variable
	sets      bool     // a builtin may set a variable that is not named by an assignment
	functions bool
	renames   bool
}

func (e *evaluated) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Assign:
		e.assign(n)
	case *syntax.WordIter:
		e.plant(n.Items...)
	case *syntax.Redirect:
		if n.Op == syntax.WordHdoc {
			e.plant(n.Word)
		}
		if n.Hdoc != nil {
			e.plant(n.Hdoc)
		}
	case *syntax.FuncDecl:
		e.functions = true
	case *syntax.ParamExp:
		e.paramExp(n)
	case *syntax.ArithmCmd:
		e.arithm(n.X)
	case *syntax.ArithmExp:
		e.arithm(n.X)
	case *syntax.LetClause:
		e.arithm(n.Exprs...)
	case *syntax.CStyleLoop:
		e.arithm(n.Init, n.Cond, n.Post)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			e.operand(n.X)
		}
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			e.operand(n.X, n.Y)
		}
	case *syntax.DeclClause:
		e.declares(n)
	case *syntax.CallExpr:
		e.call(n)
	}
	return true
}

// plant notes literal text that a variable may get.
func (e *evaluated) plant(words ...*syntax.Word) {
	for _, w := range words {
		if w != nil {
			e.planted = append(e.planted, literalText(w))
		}
	}
}

// operand notes a part of the script that is evaluated.
func (e *evaluated) operand(nodes ...syntax.Node) {
	for _, n := range nodes {
		e.operands = append(e.operands, literalText(n))
		e.evaluates = true
	}
}

// arithm notes expressions, unless they are numbers.
func (e *evaluated) arithm(list ...syntax.ArithmExpr) {
	for _, x := range list {
		if x != nil && !literalArithm(x) {
			e.operand(x)
		}
	}
}

func (e *evaluated) assign(n *syntax.Assign) {
	e.plant(n.Value)
	if n.Index != nil {
		e.arithm(n.Index)
	}
	if n.Array != nil {
		for _, elem := range n.Array.Elems {
			e.plant(elem.Value)
			if elem.Index != nil {
				e.arithm(elem.Index)
			}
		}
	}
	e.sets = e.sets || n.Name != nil && n.Name.Value == "IFS" // which makes several words of a value
	if n.Name != nil && (n.Name.Value == "BASH_ALIASES" || n.Name.Value == "BASH_CMDS") {
		e.renames = true
	}
}

func (e *evaluated) paramExp(n *syntax.ParamExp) {
	if w, ok := n.Index.(*syntax.Word); n.Index != nil && (!ok || w.Lit() != "@" && w.Lit() != "*") {
		e.arithm(n.Index)
	}
	if n.Slice != nil {
		e.arithm(n.Slice.Offset, n.Slice.Length)
	}
	e.evaluates = e.evaluates || n.Excl && n.Names == 0
	if n.Exp != nil {
		e.plant(n.Exp.Word)
		e.evaluates = e.evaluates || n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P"
	}
	if n.Repl != nil {
		e.plant(n.Repl.With)
	}
}

// declares notes declare and the like: a naked word with a subscript is evaluated, -i makes
// every value an expression, and -n makes a variable another name of one.
func (e *evaluated) declares(n *syntax.DeclClause) {
	e.sets = e.sets || n.Variant.Value == "nameref"
	for _, as := range n.Args {
		if as.Naked && as.Value != nil {
			name, _, _ := strings.Cut(literalText(as.Value), "=")
			if !strings.HasPrefix(name, "-") {
				e.operands = append(e.operands, name)
			}
			e.sets = e.sets || !fixed(as.Value) || strings.HasPrefix(name, "-") && strings.Contains(name, "n")
			e.evaluates = e.evaluates || !fixed(as.Value) || strings.HasPrefix(name, "-") && strings.Contains(name, "i")
		}
	}
}

// call notes builtins by the name as it is written; one that a wrapper or a variable hides is
// as rare as it is odd, and a variable in its place is noted for that.
func (e *evaluated) call(n *syntax.CallExpr) {
	args := n.Args
	for len(args) > 1 && (literalText(args[0]) == "builtin" || literalText(args[0]) == "command") {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	for _, w := range args[1:] {
		e.given = append(e.given, literalText(w))
	}
	switch name := literalText(args[0]); name {
	case "let":
		for _, w := range args[1:] {
			e.operand(w)
		}
	case "unset", "read", "mapfile", "readarray", "getopts", "wait":
		e.sets = true
		e.names(args[1:])
	case "printf", "test", "[":
		flags := map[string][]string{"printf": {"-v"}, "test": {"-v", "-R"}, "[": {"-v", "-R"}}[name]
		for i, w := range args[1:] {
			text := literalText(w)
			switch {
			case slices.Contains(flags, text) && i+2 < len(args):
				e.names(args[i+2 : i+3])
			case name == "printf" && i == 0 && strings.HasPrefix(text, "-v"):
				e.names(args[1:2])
			default:
				continue
			}
			if name == "printf" {
				e.sets = true
				e.plant(args[1:]...)
			}
		}
	case "set", "eval", "source", ".":
		e.sets = e.sets || name != "set"
		e.plant(args[1:]...)
	case "declare", "typeset", "local", "export", "readonly": // behind builtin or command
		e.sets = true
		e.names(args[1:])
	}
}

// names notes words that are names of variables: a subscript in one is evaluated.
func (e *evaluated) names(words []*syntax.Word) {
	for _, w := range words {
		text := literalText(w)
		if strings.Contains(text, "[") {
			e.operands = append(e.operands, text)
		}
		e.evaluates = e.evaluates || !fixed(w)
	}
}

// literalText returns what is written out in a part of a script. Commands in it are left out,
// unless all they do is print text.
func literalText(node syntax.Node) string {
	var b strings.Builder
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(n.Value)
		case *syntax.SglQuoted:
			text := n.Value
			if n.Dollar {
				text, _ = ansiC(text)
			}
			b.WriteString(text)
		case *syntax.ParamExp:
			return false
		case *syntax.ProcSubst:
			return false
		case *syntax.CmdSubst:
			return len(n.Stmts) == 1 && prints(n.Stmts[0])
		}
		return true
	})
	return b.String()
}

func prints(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && slices.Contains([]string{"echo", "printf", "cat"}, call.Args[0].Lit())
}
