package lazyregexp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryExpressionCompiles finds the expressions that the program would only compile
// when they are used.
func TestEveryExpressionCompiles(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // a file of testdata
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "New" || name(f.X) != "lazyregexp" {
				return true
			}
			found++
			if expr, ok := constant(call.Args[0]); ok {
				if _, err := regexp.Compile(expr); err != nil {
					t.Errorf("%v: %v", set.Position(call.Pos()), err)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || found < 30 {
		t.Errorf("found %d expressions, error %v", found, err)
	}
}

func name(e ast.Expr) string {
	id, _ := e.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}

// constant returns the value of literals that are added up.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, okA := constant(e.X)
		b, okB := constant(e.Y)
		return a + b, okA && okB
	}
	return "", false
}
