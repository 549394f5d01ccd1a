package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mutableTypes exist to be changed, so a package variable that holds one is
// state. sync.Pool is not among them: what it keeps cannot be observed.
var mutableTypes = regexp.MustCompile(`^(sync\.(Mutex|RWMutex|Once|Map|WaitGroup|Cond|NewCond)|sync/atomic\..*|bytes\.Buffer|strings\.Builder)$`)

// changers are functions that change their first argument in place.
var changers = regexp.MustCompile(`^(builtin\.(delete|clear|copy|close)|slices\.(Sort.*|Reverse)|sort\.(Strings|Ints|Slice|SliceStable|Sort|Stable)|maps\.(Copy|DeleteFunc|Insert))$`)

func TestNoStateInPackages(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		findings = append(findings, state(p)...)
	}
	report(t, findings,
		"Put the state into a type that a constructor builds and its user holds; build tables in their declaration; copy what may be changed.")
}

// state returns the init functions and mutable package variables of p.
// Changes through an alias (m := table; m[k] = v) are not seen.
func state(p *pkg) []string {
	if p.name == "main" {
		return nil
	}
	self, info := p.resolve()
	var out []string
	for _, file := range p.files {
		out = append(out, badDecls(p, info, file)...)
	}
	methods := mutators(info, p.files)
	for _, file := range slices.Concat(p.files, p.tests) {
		for _, changed := range changes(info, file, methods) {
			switch obj := info.Uses[changed].(type) {
			case *types.Var:
				if obj.Parent() == self.Scope() && !p.inTest(obj) {
					out = append(out, p.at(changed, "changes the package variable %s", obj.Name()))
				}
			case *types.PkgName:
				out = append(out, p.at(changed, "changes a variable of package %s", obj.Imported().Path()))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inTest reports whether a test file declares obj. Variables of tests (an
// -update flag) are their own business; tests that change ours are not.
func (p *pkg) inTest(obj types.Object) bool {
	return strings.HasSuffix(p.fset.Position(obj.Pos()).Filename, "_test.go")
}

// badDecls returns what is state by its declaration alone.
func badDecls(p *pkg, info *types.Info, file *ast.File) []string {
	var out []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == "init" {
				out = append(out, p.at(decl, "func init runs behind the reader's back"))
			}
		case *ast.GenDecl:
			if decl.Tok != token.VAR {
				continue
			}
			for _, spec := range decl.Specs {
				if kind := mutableKind(info, spec); kind != "" {
					out = append(out, p.at(spec, "the package variable %s holds a %s", spec.(*ast.ValueSpec).Names[0].Name, kind))
				}
			}
		}
	}
	return out
}

// mutableKind returns the mutable type in a declaration's type or value, or "".
func mutableKind(info *types.Info, spec ast.Spec) string {
	kind := ""
	ast.Inspect(spec, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncType:
			return false // what a function uses is not held by the variable
		case *ast.ChanType:
			kind = "channel"
		case *ast.SelectorExpr:
			if name := globalName(info, n); mutableTypes.MatchString(name) {
				kind = name
			}
		}
		return true
	})
	return kind
}

// mutators returns the methods in files that change their receiver.
func mutators(info *types.Info, files []*ast.File) map[types.Object]bool {
	found := map[types.Object]bool{}
	for _, file := range files {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 {
				continue
			}
			if _, pointer := fn.Recv.List[0].Type.(*ast.StarExpr); !pointer {
				continue
			}
			receiver := info.Defs[fn.Recv.List[0].Names[0]]
			for _, changed := range changes(info, fn, nil) {
				if receiver != nil && info.Uses[changed] == receiver {
					found[info.Defs[fn.Name]] = true
				}
			}
		}
	}
	return found
}

// changes returns, for each place under n that changes a variable, the name at
// the root of what is changed: x for x = 1, x.f++, x[k] = v, delete(x, k), &x
// and x.m() where m is among the mutating methods.
func changes(info *types.Info, n ast.Node, methods map[types.Object]bool) []*ast.Ident {
	var found []*ast.Ident
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if id := rootOf(e); id != nil {
				found = append(found, id)
			}
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				add(n.Key, n.Value)
			}
		case *ast.IncDecStmt:
			add(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				add(n.X)
			}
		case *ast.CallExpr:
			if changers.MatchString(globalName(info, n.Fun)) && len(n.Args) > 0 {
				add(n.Args[0])
			}
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && methods[info.Uses[sel.Sel]] {
				add(sel.X)
			}
		}
		return true
	})
	return found
}

// rootOf returns the name an expression starts from: x in (*x.f)[i].
func rootOf(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.ParenExpr:
		return rootOf(e.X)
	case *ast.SelectorExpr:
		return rootOf(e.X)
	case *ast.IndexExpr:
		return rootOf(e.X)
	case *ast.SliceExpr:
		return rootOf(e.X)
	case *ast.StarExpr:
		return rootOf(e.X)
	}
	return nil
}
