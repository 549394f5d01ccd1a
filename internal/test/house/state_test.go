package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestStateIsFound(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"a table is fine", `var t = map[string]int{"a": 1}; func f() int { return t["a"] }`, ""},
		{"a sentinel, a regexp and a proof are fine", `
			import ("errors"; "regexp"; "io")
			var ErrX = errors.New("x")
			var re = regexp.MustCompile("x")
			var _ io.Reader = (*r)(nil)
			type r struct{}
			func f() bool { return re.MatchString("x") }`, ""},
		{"a pool is fine", `import "sync"; var p sync.Pool; func f() { p.Put(1) }`, ""},
		{"a value computed once is fine", `import "sync"; var v = sync.OnceValue(func() int { var mu sync.Mutex; mu.Lock(); return 1 })`, ""},
		{"a table built by a function is fine", `var t = func() map[int]int { m := map[int]int{}; m[1] = 2; return m }()`, ""},
		{"a local of the same name is fine", `var n int; func f() int { n := 1; n++; return n }`, ""},
		{"a field of the same name is fine", `var n int; type s struct{ n int }; func (s *s) f() { s.n++ }`, ""},
		{"a method that only reads is fine", `type s struct{ n int }; var v = s{1}; func (s *s) get() int { return s.n }; func f() int { return v.get() }`, ""},

		{"init is found", `func init() {}`, "func init runs behind the reader's back"},
		{"an assignment is found", `var n int; func f() { n = 1 }`, "changes the package variable n"},
		{"a count is found", `var n int; func f() { n++ }`, "changes the package variable n"},
		{"an entry that is set is found", `var m = map[int]int{}; func f() { m[1] = 2 }`, "changes the package variable m"},
		{"an entry that is deleted is found", `var m = map[int]int{}; func f() { delete(m, 1) }`, "changes the package variable m"},
		{"an append is found", `var s []int; func f() { s = append(s, 1) }`, "changes the package variable s"},
		{"a sort in place is found", `import "slices"; var s []int; func f() { slices.Sort(s) }`, "changes the package variable s"},
		{"a field that is set is found", `var v = &struct{ n int }{}; func f() { (*v).n = 1 }`, "changes the package variable v"},
		{"an address that is taken is found", `var n int; func f() *int { return &n }`, "changes the package variable n"},
		{"a range into it is found", `var n int; func f() { for n = range 3 {} }`, "changes the package variable n"},
		{"a method that writes is found", `type s struct{ n int }; var v s; func (s *s) inc() { s.n++ }; func f() { v.inc() }`, "changes the package variable v"},
		{"a lock is found", `import "sync"; var mu sync.Mutex`, "the package variable mu holds a sync.Mutex"},
		{"a lock inside a struct is found", `import "sync"; var v struct{ mu sync.RWMutex }`, "the package variable v holds a sync.RWMutex"},
		{"an atomic is found", `import "sync/atomic"; var n = new(atomic.Int64)`, "the package variable n holds a sync/atomic.Int64"},
		{"a channel is found", `var c = make(chan int)`, "the package variable c holds a channel"},
		{"a variable of another package is found", `import "net/http"; func f() { http.DefaultClient = nil }`, "changes a variable of package net/http"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			findings := strings.Join(state(snippet(t, "a", "package a; "+tt.src)), "\n")
			_, got, _ := strings.Cut(findings, ": ")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a command may hold state", func(t *testing.T) {
		if got := state(snippet(t, "cmd/x", "package main; var n int; func init() { n++ }")); got != nil {
			t.Errorf("findings: %v", got)
		}
	})
	t.Run("a variable that a test swaps is found", func(t *testing.T) {
		p := snippet(t, "a", `package a; import "time"; var now = time.Now`)
		p.tests = []*ast.File{parse(t, p.fset, "a/x_test.go", `package a; var update bool; func f() { now = nil; update = true }`)}
		want := []string{"a/x_test.go:1: changes the package variable now"}
		if diff := cmp.Diff(want, state(p)); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	})
}
