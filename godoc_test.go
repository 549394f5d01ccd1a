package haft_test

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestGoDocLeadsToFields: a name that stands for a type of another package says of which, that package is one that
// programs can import, and there "go doc" shows fields or methods.
func TestGoDocLeadsToFields(t *testing.T) {
	shown := map[string]bool{}
	for _, f := range parseDir(t, "wire") {
		for _, spec := range typeSpecs(f) {
			switch typ := spec.Type.(type) {
			case *ast.StructType:
				shown[spec.Name.Name] = slices.ContainsFunc(typ.Fields.List, func(f *ast.Field) bool {
					return slices.ContainsFunc(f.Names, (*ast.Ident).IsExported)
				})
			case *ast.InterfaceType:
				shown[spec.Name.Name] = true
			}
		}
	}
	aliases := 0
	for _, f := range parseDir(t, ".") {
		for _, spec := range typeSpecs(f) {
			if !spec.Assign.IsValid() || !spec.Name.IsExported() {
				continue
			}
			aliases++
			target, ok := spec.Type.(*ast.SelectorExpr)
			if !ok || target.X.(*ast.Ident).Name != "wire" || !shown[target.Sel.Name] {
				t.Errorf("%s stands for a type whose fields go doc does not show", spec.Name.Name)
				continue
			}
			if !links(spec.Doc.Text(), "wire", target.Sel.Name) {
				t.Errorf("the comment of %s does not lead to [wire.%s]:\n%s", spec.Name.Name, target.Sel.Name, spec.Doc.Text())
			}
		}
	}
	if aliases < 10 {
		t.Errorf("found only %d names for types of other packages", aliases)
	}
}

// links reports whether a comment has a link to a name, as go doc and its web page show it.
func links(text, pkg, name string) bool {
	p := comment.Parser{LookupPackage: func(string) (string, bool) { return "github.com/haftdev/haft/wire", true }}
	for _, block := range p.Parse(text).Content {
		paragraph, ok := block.(*comment.Paragraph)
		if ok && slices.ContainsFunc(paragraph.Text, func(t comment.Text) bool {
			link, ok := t.(*comment.DocLink)
			return ok && strings.HasSuffix(link.ImportPath, "/"+pkg) && link.Name == name
		}) {
			return true
		}
	}
	return false
}

// TestTheAPIShowsNoInternalType: nothing that go doc shows of the SDK, the library and the protocol names a type of a
// package that programs cannot import.
func TestTheAPIShowsNoInternalType(t *testing.T) {
	for _, dir := range []string{".", "embed", "wire"} {
		for name, f := range parseDir(t, dir) {
			hidden := map[string]bool{}
			for _, imp := range f.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				if strings.Contains(path, "/internal/") {
					hidden[filepath.Base(path)] = true
					if imp.Name != nil {
						hidden[imp.Name.Name] = true
					}
				}
			}
			ast.FileExports(f)
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BlockStmt, *ast.ValueSpec:
					return false
				case *ast.SelectorExpr:
					if pkg, ok := n.X.(*ast.Ident); ok && hidden[pkg.Name] {
						t.Errorf("%s: %s.%s is shown, and cannot be imported", name, pkg.Name, n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// parseDir parses the files of a package without its tests.
func parseDir(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// typeSpecs are the types that a file declares; one that is declared alone has the comment of its declaration.
func typeSpecs(f *ast.File) (specs []*ast.TypeSpec) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.TypeSpec)
			if spec.Doc == nil {
				spec.Doc = g.Doc
			}
			specs = append(specs, spec)
		}
	}
	return specs
}
