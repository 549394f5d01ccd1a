package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestExportedNamesHaveUsers keeps what is exported outside the API to what another
// package uses: an exported name is a promise, and a reader looks for who relies on it.
// The API is what docs/dev/architecture.md lists as importable; its users are elsewhere.
func TestExportedNamesHaveUsers(t *testing.T) {
	besides := usesBesides(t)
	findings := slices.DeleteFunc(unusedNames(ourUniverse(t), publicPackages(t)), func(f string) bool {
		_, name, _ := strings.Cut(f, ": ")
		return besides[name[strings.LastIndex(name, ".")+1:]]
	})
	report(t, findings, "Unexport or delete these names: no other package uses them.")
}

// usesBesides are the names that the modules besides this one select, in whatever package or type.
func usesBesides(t *testing.T) map[string]bool {
	uses := map[string]bool{}
	for _, name := range textFiles(t) {
		if dir, _, _ := strings.Cut(name, "/"); !slices.Contains(besides, dir) || path.Ext(name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, readFile(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				uses[s.Sel.Name] = true
			}
			return true
		})
	}
	return uses
}

// suites are packages of the API that are shown by the tests that call them.
var suites = []string{"tool/tooltest", "wire/wiretest"}

// notForImport is the one package that lies outside internal/ without being API: its pages
// are embedded, which Go allows only from their own folder.
const notForImport = "docs"

// TestTheAPIHasExamples holds that what docs/dev/architecture.md lists as importable is all
// that can be imported, and that each package there shows how it is used.
func TestTheAPIHasExamples(t *testing.T) {
	public, examples := publicPackages(t), map[string]bool{}
	for _, name := range textFiles(t) {
		if strings.HasSuffix(name, "_test.go") && strings.Contains(readFile(t, name), "\nfunc Example") {
			examples[path.Dir(name)] = true
		}
	}
	for _, p := range allPackages(t) {
		if p.name == "main" || p.dir == notForImport || strings.Contains("/"+p.dir+"/", "/internal/") {
			continue
		}
		if !public(p.dir) {
			t.Errorf("%s can be imported, and the list in docs/dev/architecture.md does not have it", p.dir)
		}
		if !examples[p.dir] && !slices.Contains(suites, p.dir) {
			t.Errorf("%s is part of the API and has no Example in its tests", p.dir)
		}
	}
}

func unusedNames(u *universe, public func(string) bool) (findings []string) {
	seen := &visible{universe: u, names: map[types.Object]bool{}, done: map[types.Type]bool{}}
	for name, p := range u.checked {
		if public(relative(name)) {
			seen.all(p)
		}
	}
	for _, p := range u.checked {
		seen.used(p)
	}
	wanted := u.interfaces()
	for _, name := range slices.Sorted(maps.Keys(u.checked)) {
		if !public(relative(name)) {
			findings = append(findings, seen.missing(u.checked[name], wanted)...)
		}
	}
	return findings
}

func relative(name string) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(name, module), "/"), ".")
}

// publicPackages reads the list at the top of docs/dev/architecture.md.
func publicPackages(t *testing.T) func(string) bool {
	t.Helper()
	_, list, found := strings.Cut(readFile(t, "docs/dev/architecture.md"), "Other programs may import the packages in this table.")
	list, _, ends := strings.Cut(list, "Everything else is under")
	if !found || !ends {
		t.Fatal("docs/dev/architecture.md no longer says what other programs may import")
	}
	var patterns []string
	for i, name := range strings.Split(list, "`") {
		if i%2 == 1 {
			patterns = append(patterns, name)
		}
	}
	return func(rel string) bool {
		if strings.Contains("/"+rel+"/", "/internal/") {
			return false
		}
		return rel == "." || slices.ContainsFunc(patterns, func(p string) bool {
			below, all := strings.CutSuffix(p, "…")
			return rel == p || all && strings.HasPrefix(rel, below)
		})
	}
}

// visible is what users of packages see: the names that they use, and the types in the
// signatures and the exported fields of those.
type visible struct {
	*universe
	names  map[types.Object]bool
	done   map[types.Type]bool
	public bool // whose users are not known, so that they see all methods
}

// all takes in what an API exports, with the types of other packages in it.
func (v *visible) all(p *types.Package) {
	v.public = true
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			v.add(o)
		}
	}
	v.public = false
}

// used takes in what other packages use of p. The constants of a type that they see are
// the values that it has.
func (v *visible) used(p *types.Package) {
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); v.uses[nameOf(o)] {
			v.add(o)
		}
	}
	for _, name := range p.Scope().Names() {
		if c, ok := p.Scope().Lookup(name).(*types.Const); ok {
			if n, ok := c.Type().(*types.Named); ok && v.names[n.Obj()] {
				v.names[c] = true
			}
		}
	}
}

func (v *visible) add(o types.Object) {
	if !v.names[o] {
		v.names[o] = true
		v.look(o.Type())
	}
}

// look adds the names in a type.
func (v *visible) look(t types.Type) {
	if t == nil || v.done[t] {
		return
	}
	v.done[t] = true
	switch t := t.(type) {
	case *types.Named:
		v.lookNamed(t)
	case *types.Alias:
		v.add(t.Obj())
		v.look(t.Rhs())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels, maps
		if m, ok := t.(*types.Map); ok {
			v.look(m.Key())
		}
		v.look(t.Elem())
	case *types.Signature:
		v.look(t.Params())
		v.look(t.Results())
	case *types.Tuple:
		for p := range t.Variables() {
			v.look(p.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				v.look(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			v.look(m.Signature())
		}
	}
}

func (v *visible) lookNamed(t *types.Named) {
	for a := range t.TypeArgs().Types() {
		v.look(a)
	}
	t = t.Origin()
	if t.Obj().Pkg() == nil || !v.listed[t.Obj().Pkg().Path()].ours() {
		return
	}
	v.names[t.Obj()] = true
	v.look(t.Underlying())
	for m := range t.Methods() {
		if v.public && m.Exported() {
			v.uses[nameOf(m)] = true
		}
		if v.uses[nameOf(m)] {
			v.look(m.Signature())
		}
	}
}

// missing names what p exports and nobody else sees.
func (v *visible) missing(p *types.Package, wanted map[string][]*types.Interface) (findings []string) {
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if o.Exported() && !v.names[o] {
			findings = append(findings, v.at(o))
		}
		named, ok := o.Type().(*types.Named)
		if _, isType := o.(*types.TypeName); !ok || !isType || named.Obj() != o {
			continue
		}
		for m := range named.Methods() {
			if m.Exported() && !v.uses[nameOf(m)] && !v.methods[m.Name()] && !askedFor(named, m, wanted) {
				findings = append(findings, v.at(m))
			}
		}
	}
	return findings
}

func (u *universe) at(o types.Object) string {
	pos := u.fset.Position(o.Pos())
	dir, name, _ := strings.Cut(nameOf(o), " ")
	return fmt.Sprintf("%s/%s:%d: %s", relative(dir), filepath.Base(pos.Filename), pos.Line, name)
}

// interfaces are those of all packages there are, by the names of their methods.
func (u *universe) interfaces() map[string][]*types.Interface {
	all := map[string][]*types.Interface{}
	add := func(i *types.Interface) {
		for m := range i.Methods() {
			all[m.Name()] = append(all[m.Name()], i)
		}
	}
	for _, i := range append(u.unnamed, types.Universe.Lookup("error").Type().Underlying().(*types.Interface)) {
		add(i)
	}
	done := map[*types.Package]bool{}
	var visit func(*types.Package)
	visit = func(p *types.Package) {
		if done[p] {
			return
		}
		done[p] = true
		for _, name := range p.Scope().Names() {
			if i, ok := p.Scope().Lookup(name).Type().Underlying().(*types.Interface); ok {
				add(i)
			}
		}
		for _, imported := range p.Imports() {
			visit(imported)
		}
	}
	for _, p := range u.checked {
		visit(p)
	}
	return all
}

// askedFor reports whether the method makes the type fit an interface. The errors package
// asks by the name alone.
func askedFor(t *types.Named, m *types.Func, wanted map[string][]*types.Interface) bool {
	if name := m.Name(); name == "Is" || name == "As" || name == "Unwrap" {
		return true
	}
	return slices.ContainsFunc(wanted[m.Name()], func(i *types.Interface) bool {
		return types.Implements(t, i) || types.Implements(types.NewPointer(t), i)
	})
}

func TestUnusedNamesAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module " + module + "\n\ngo 1.24\n",
		"api.go": "package haft\n\nimport \"" + module + "/internal/a\"\n\nfunc API() *a.Shown { a.Used(); return nil }\n",
		"internal/a/a.go": `package a

func Used() Seen { return nil }
func Unused() {}
func Tested() { Both() }
func Both() {}

type Seen interface{ Method() }
type Shown struct{}

func (*Shown) Method() {}
func (*Shown) Public() {}

type hidden struct{}

func (hidden) Error() string { return "" }
func (hidden) Unused() {}

type Kind int

const One Kind = 1

type Level int

const Two Level = 2

func Elsewhere(Level) {}
`,
		"internal/a/a_test.go":    "package a_test\n\nimport \"" + module + "/internal/a\"\n\nfunc f() { a.Tested(); a.Both() }\n",
		"internal/b/b_test.go":    "package b\n\nimport \"" + module + "/internal/a\"\n\nfunc f() { a.Used() }\n",
		"internal/b/b.go":         "package b\n",
		"internal/b/b_windows.go": "package b\n\nimport \"" + module + "/internal/a\"\n\nfunc g() { a.Elsewhere(0) }\n",
		"internal/b/b_plan9.go":   "package b\n\nimport \"" + module + "/internal/a\"\n\nfunc g() { a.Elsewhere(0) }\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := unusedNames(loadUniverse(t, dir), func(rel string) bool { return rel == "." })
	want := []string{
		"internal/a/a.go:19: Kind", "internal/a/a.go:21: One", "internal/a/a.go:5: Tested", "internal/a/a.go:4: Unused", "internal/a/a.go:17: hidden.Unused",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
