package house

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A universe is the packages of the module, checked against each other from their
// source as this system compiles them; other modules are what the compiler exports.
type universe struct {
	fset    *token.FileSet
	listed  map[string]*listedPackage
	checked map[string]*types.Package
	foreign types.Importer
	parsed  map[string]*ast.File
	uses    map[string]bool // by nameOf, from other packages
	methods map[string]bool // selected in files that this system does not compile
	unnamed []*types.Interface
}

// A listedPackage is what go list says of one.
type listedPackage struct {
	ImportPath, Dir, Export                            string
	GoFiles, TestGoFiles, XTestGoFiles, IgnoredGoFiles []string
	Module                                             *struct{ Main bool }

	within map[string]bool // the package's names that its own code uses
}

func (p *listedPackage) ours() bool {
	return p != nil && p.Module != nil && p.Module.Main
}

// whole is the universe of this module, which takes seconds to load.
var whole struct {
	once sync.Once
	*universe
}

func ourUniverse(t *testing.T) *universe {
	t.Helper()
	whole.once.Do(func() { whole.universe = loadUniverse(t, root) })
	if whole.universe == nil {
		t.Fatal("another test could not load the packages")
	}
	return whole.universe
}

func loadUniverse(t *testing.T, dir string) *universe {
	t.Helper()
	u := &universe{
		fset: token.NewFileSet(), listed: listModule(t, dir),
		checked: map[string]*types.Package{}, parsed: map[string]*ast.File{}, uses: map[string]bool{}, methods: map[string]bool{},
	}
	u.foreign = importer.ForCompiler(u.fset, "gc", func(name string) (io.ReadCloser, error) {
		p := u.listed[name]
		if p == nil || p.Export == "" {
			return nil, fmt.Errorf("%s is not listed", name)
		}
		return os.Open(p.Export)
	})
	for _, name := range slices.Sorted(maps.Keys(u.listed)) {
		p := u.listed[name]
		if !p.ours() {
			continue
		}
		if _, err := u.Import(name); err != nil {
			t.Fatalf("check %s: %v", name, err)
		}
		if err := u.checkTests(p); err != nil {
			t.Fatalf("check the tests of %s: %v", name, err)
		}
		if err := u.mentions(p.Dir, p.IgnoredGoFiles); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// listModule names the module's packages and all that they and their tests need, with
// what the compiler exports of those that are not the module's.
func listModule(t *testing.T, dir string) map[string]*listedPackage {
	t.Helper()
	listed := map[string]*listedPackage{}
	var foreign []string
	for _, p := range goList(t, dir, "-deps", "-test", "./...") {
		// Test programs and packages built again for them are the same source.
		if strings.Contains(p.ImportPath, " ") || strings.HasSuffix(p.ImportPath, ".test") || p.ImportPath == "unsafe" {
			continue
		}
		if listed[p.ImportPath] = p; !p.ours() {
			foreign = append(foreign, p.ImportPath)
		}
	}
	for _, p := range goList(t, dir, append([]string{"-export"}, foreign...)...) {
		listed[p.ImportPath] = p
	}
	return listed
}

func goList(t *testing.T, dir string, args ...string) (packages []*listedPackage) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles,Module"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listedPackage{}
		if err := d.Decode(p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// Import makes a universe an importer: the module's packages are read from source once.
func (u *universe) Import(name string) (*types.Package, error) {
	if name == "unsafe" {
		return types.Unsafe, nil
	}
	p := u.listed[name]
	if !p.ours() {
		return u.foreign.Import(name)
	}
	if c := u.checked[name]; c != nil {
		return c, nil
	}
	c, info, err := u.check(p, name, u, p.GoFiles)
	if err != nil {
		return nil, err
	}
	u.checked[name] = c
	p.within = namesUsed(info, p.ImportPath)
	return c, nil
}

// check reads files as one package and notes which names of other packages they use.
func (u *universe) check(p *listedPackage, name string, from types.Importer, files []string) (*types.Package, *types.Info, error) {
	var parsed []*ast.File
	for _, file := range files {
		f, err := u.parse(filepath.Join(p.Dir, file))
		if err != nil {
			return nil, nil, err
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	// A test may see a package with and without its test files, and find two types where
	// the compiler sees one. Which name is meant is clear all the same.
	conf := types.Config{Importer: from, FakeImportC: true, Error: func(error) {}}
	c, _ := conf.Check(name, u.fset, parsed, info)
	for _, o := range info.Uses {
		if o.Pkg() != nil && o.Pkg().Path() != p.ImportPath && u.listed[o.Pkg().Path()].ours() {
			u.uses[nameOf(o)] = true
		}
	}
	for e, t := range info.Types {
		if _, ok := e.(*ast.InterfaceType); ok {
			u.unnamed = append(u.unnamed, t.Type.(*types.Interface))
		}
	}
	return c, info, nil
}

func (u *universe) parse(file string) (f *ast.File, err error) {
	if f = u.parsed[file]; f == nil {
		f, err = parser.ParseFile(u.fset, file, nil, parser.SkipObjectResolution)
		u.parsed[file] = f
	}
	return f, err
}

func namesUsed(info *types.Info, of string) map[string]bool {
	names := map[string]bool{}
	for _, o := range info.Uses {
		if o.Pkg() != nil && o.Pkg().Path() == of {
			names[nameOf(o)] = true
		}
	}
	return names
}

// checkTests reads the tests of a package. Those that see it from outside are users of
// what the package itself also uses; what tests alone use is dead.
func (u *universe) checkTests(p *listedPackage) error {
	if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
		return nil
	}
	within, _, err := u.check(p, p.ImportPath, u, slices.Concat(p.GoFiles, p.TestGoFiles))
	if err != nil {
		return err
	}
	_, info, err := u.check(p, p.ImportPath+"_test", importerFunc(func(name string) (*types.Package, error) {
		if name == p.ImportPath {
			return within, nil
		}
		return u.Import(name)
	}), p.XTestGoFiles)
	if err != nil {
		return err
	}
	for name := range namesUsed(info, p.ImportPath) {
		if p.within[name] {
			u.uses[name] = true
		}
	}
	return nil
}

type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(name string) (*types.Package, error) { return f(name) }

// mentions notes what files use that this system does not compile, by their words alone.
func (u *universe) mentions(dir string, files []string) error {
	for _, file := range files {
		f, err := u.parse(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		imports := map[string]string{}
		for _, i := range f.Imports {
			at, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			name := path.Base(at)
			if i.Name != nil {
				name = i.Name.Name
			}
			imports[name] = at
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				u.methods[s.Sel.Name] = true
				if x, ok := s.X.(*ast.Ident); ok {
					u.uses[imports[x.Name]+" "+s.Sel.Name] = true
				}
			}
			return true
		})
	}
	return nil
}

// nameOf is the package of an object and its name, with its receiver if it has one.
func nameOf(o types.Object) string {
	name := o.Name()
	if fn, ok := o.(*types.Func); ok {
		if recv := fn.Origin().Signature().Recv(); recv != nil {
			name = receiver(recv.Type()) + "." + name
		}
	}
	return o.Pkg().Path() + " " + name
}

func receiver(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return "interface"
}
