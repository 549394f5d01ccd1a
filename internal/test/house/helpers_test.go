package house

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// mostElsewhere is the share of the functions called once, in per cent, that may live in
// another file than their caller. Each is a jump for a reader of the main path.
const mostElsewhere = 20

// TestHelpersAreBesideTheirCallers counts, over all packages without their tests, the
// functions that are not exported and are mentioned once; methods and constructors live with their
// type, and code for one system in its own file. Run it with -v for the count.
func TestHelpersAreBesideTheirCallers(t *testing.T) {
	once, elsewhere := 0, 0
	var worst []string
	for _, p := range allPackages(t) {
		n, far := helpersOf(p)
		once += n
		elsewhere += len(far)
		worst = append(worst, far...)
	}
	t.Logf("%d functions are called once, %d of them (%.1f %%) from another file", once, elsewhere, 100*float64(elsewhere)/float64(once))
	if once == 0 || 100*elsewhere >= mostElsewhere*once {
		t.Errorf("%d of %d functions that are called once live in another file than their caller, which is %d %% or more: put a helper beside its caller. They are: %q", elsewhere, once, mostElsewhere, worst)
	}
}

// helpersOf counts the functions of a package that are mentioned once, and names those
// whose caller is in another file.
func helpersOf(p *pkg) (once int, elsewhere []string) {
	_, info := (&pkg{dir: p.dir, name: p.name, fset: p.fset, files: p.files}).resolve()
	declared := map[types.Object]string{}
	for _, f := range p.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && !constructs(f, fn) && !ofOneSystem.MatchString(p.fset.Position(fn.Pos()).Filename) && !fn.Name.IsExported() && fn.Name.Name != "main" && fn.Name.Name != "init" && info.Defs[fn.Name] != nil {
				declared[info.Defs[fn.Name]] = p.fset.Position(fn.Pos()).Filename
			}
		}
	}
	uses, users := map[types.Object]int{}, map[types.Object]string{}
	for id, o := range info.Uses {
		if fn, ok := o.(*types.Func); ok {
			o = fn.Origin()
		}
		if _, ok := declared[o]; ok {
			uses[o]++
			users[o] = p.fset.Position(id.Pos()).Filename
		}
	}
	for o, file := range declared {
		if uses[o] != 1 {
			continue
		}
		once++
		if users[o] != file {
			elsewhere = append(elsewhere, file+": "+o.Name())
		}
	}
	return once, elsewhere
}

// constructs reports whether a function makes a type that its file declares.
func constructs(f *ast.File, fn *ast.FuncDecl) bool {
	if fn.Type.Results == nil || !strings.HasPrefix(fn.Name.Name, "new") {
		return false
	}
	made := receiverType(fn.Type.Results.List[0].Type)
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && slices.ContainsFunc(g.Specs, func(s ast.Spec) bool {
			t, ok := s.(*ast.TypeSpec)
			return ok && t.Name.Name == made
		}) {
			return true
		}
	}
	return false
}
