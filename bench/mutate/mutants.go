package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
)

// A mutant is a file with one thing broken.
type mutant struct {
	file string
	line int
	what string
	text []byte
}

// swaps are operators that are easily mistaken for each other.
var swaps = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

// mutants are all that a file has.
func mutants(file string) ([]mutant, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, text, 0)
	if err != nil {
		return nil, err
	}
	var found []mutant
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	replace := func(what string, from, to token.Pos, with string) {
		broken := slices.Concat(text[:at(from)], []byte(with), text[at(to):])
		found = append(found, mutant{file, fset.Position(from).Line, what, broken})
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			cond := string(text[at(n.Cond.Pos()):at(n.Cond.End())])
			replace("negate "+cond, n.Cond.Pos(), n.Cond.End(), "!("+cond+")")
		case *ast.BinaryExpr:
			if with := swaps[n.Op]; with != "" {
				replace(n.Op.String()+" becomes "+with, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with)
			}
		case *ast.BasicLit:
			if v, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
				replace(n.Value+" becomes "+strconv.Itoa(v+1), n.Pos(), n.End(), strconv.Itoa(v+1))
			}
		case *ast.BlockStmt:
			for _, s := range n.List {
				if droppable(s) {
					replace("drop "+firstLine(text[at(s.Pos()):at(s.End())]), s.Pos(), s.End(), "")
				}
			}
		}
		return true
	})
	return found, nil
}

// droppable reports whether a program without the statement may still compile.
func droppable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.IncDecStmt, *ast.SendStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	}
	return false
}

func firstLine(text []byte) string {
	if i := slices.Index(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return string(text)
}
