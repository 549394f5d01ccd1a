package shell

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// -v is in neither list: it evaluates the subscript of its operand.
var (
	unaryTests  = strings.Fields("-a -b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S")
	binaryTests = strings.Fields("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef")
)

var errTest = errors.New("a test that haft does not understand")

// checkTest judges [ and test. Operands may be unknown as long as they are one
// word each and the operators are literal.
func checkTest(args []grammar.Word) error {
	if args[0].Value == "[" {
		if last := args[len(args)-1]; len(args) < 2 || !last.Known() || last.Value != "]" {
			return errTest
		}
		args = args[:len(args)-1]
	}
	args = args[1:]
	for _, w := range args {
		if w.Many {
			return errors.New("a test with a word that could expand to several")
		}
	}
	is := func(w grammar.Word, list []string) bool { return w.Known() && slices.Contains(list, w.Value) }
	for len(args) > 1 && args[0].Known() && args[0].Value == "!" {
		args = args[1:]
	}
	switch {
	case len(args) == 0, len(args) == 1:
		return nil
	case len(args) == 2 && is(args[0], unaryTests):
		return nil
	case len(args) == 3 && is(args[1], binaryTests):
		return nil
	}
	// Tests joined by -a or -o are read in pieces, which needs literal words.
	for n := 2; n <= 3 && n+1 < len(args); n++ {
		if is(args[n], []string{"-a", "-o"}) && checkTest(append(grammar.Literals("test"), args[:n]...)) == nil && allKnown(args) {
			return checkTest(append(grammar.Literals("test"), args[n+1:]...))
		}
	}
	return errTest
}

func allKnown(args []grammar.Word) bool {
	return !slices.ContainsFunc(args, func(w grammar.Word) bool { return !w.Known() })
}

// testClause judges [[ … ]].
func (a *analyzer) testClause(c *syntax.TestClause) {
	a.addDeny(Command{Words: []string{"[["}, Text: "[["})
	a.testExpr(c.X)
}

func (a *analyzer) testExpr(e syntax.TestExpr) {
	switch x := e.(type) {
	case *syntax.Word:
		v := a.value(x)
		if v.refuse != "" {
			a.refuse(v.refuse)
		}
	case *syntax.ParenTest:
		a.testExpr(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar || x.Op == syntax.TsOptSet {
			a.refuse("a test that evaluates its operand")
		}
		a.testExpr(x.X)
	case *syntax.BinaryTest:
		a.binaryTest(x)
	default:
		a.refuse("a test that haft does not understand")
		a.searchNested(e)
	}
}

func (a *analyzer) binaryTest(x *syntax.BinaryTest) {
	switch x.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, side := range []syntax.TestExpr{x.X, x.Y} {
			w, ok := side.(*syntax.Word)
			if !ok || strings.Trim(w.Lit(), "0123456789") != "" || w.Lit() == "" {
				a.refuse("a test that evaluates its operands as arithmetic")
			}
		}
	}
	a.testExpr(x.X)
	a.testExpr(x.Y)
}
