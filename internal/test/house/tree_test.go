package house

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// module is the import path of the tree, root its place seen from here.
const (
	module = "github.com/haftdev/haft"
	root   = "../../.."

	parseMode = parser.ParseComments | parser.SkipObjectResolution
)

// A pkg is one Go package of the tree: the files of every operating system
// together, because the rules hold for all of them.
type pkg struct {
	dir   string // from the root, with slashes; "." is the root
	name  string
	fset  *token.FileSet
	files []*ast.File
	tests []*ast.File // test files in the same package, not in name_test
}

// packages returns every package of the module, read once per test run.
var packages = sync.OnceValues(readPackages)

func allPackages(t *testing.T) []*pkg {
	t.Helper()
	pkgs, err := packages()
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	return pkgs
}

func readPackages() ([]*pkg, error) {
	fset := token.NewFileSet()
	byKey := map[string]*pkg{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && notOurs(file, d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(file) != ".go" {
			return nil
		}
		return addFile(byKey, fset, file)
	})
	if err != nil {
		return nil, err
	}
	var pkgs []*pkg
	for _, p := range byKey {
		if len(p.files) > 0 {
			pkgs = append(pkgs, p)
		}
	}
	slices.SortFunc(pkgs, func(a, b *pkg) int { return strings.Compare(a.dir+" "+a.name, b.dir+" "+b.name) })
	return pkgs, nil
}

// notOurs reports whether the go command would leave the folder out of "./...".
func notOurs(dir, name string) bool {
	if dir == root {
		return false
	}
	if name == "testdata" || name == "vendor" || name == "node_modules" || name[0] == '.' || name[0] == '_' {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// addFile parses one file, under its name from the root, into its package.
func addFile(byKey map[string]*pkg, fset *token.FileSet, file string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	parsed, err := parser.ParseFile(fset, rel, src, parseMode)
	if err != nil {
		return err
	}
	key := path.Dir(rel) + " " + parsed.Name.Name
	p := byKey[key]
	if p == nil {
		p = &pkg{dir: path.Dir(rel), name: parsed.Name.Name, fset: fset}
		byKey[key] = p
	}
	if strings.HasSuffix(rel, "_test.go") {
		p.tests = append(p.tests, parsed)
	} else {
		p.files = append(p.files, parsed)
	}
	return nil
}

// snippet makes a package of one source text, for the tests of the checks.
func snippet(t *testing.T, dir, src string) *pkg {
	t.Helper()
	fset := token.NewFileSet()
	file := parse(t, fset, path.Join(dir, "x.go"), src)
	return &pkg{dir: dir, name: file.Name.Name, fset: fset, files: []*ast.File{file}}
}

func parse(t *testing.T, fset *token.FileSet, name, src string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(fset, name, src, parseMode)
	if err != nil {
		t.Fatalf("parse snippet: %v", err)
	}
	return file
}

// at formats one finding the way compilers do, so that editors can jump to it.
func (p *pkg) at(n ast.Node, format string, args ...any) string {
	pos := p.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d: %s", pos.Filename, pos.Line, fmt.Sprintf(format, args...))
}

// resolve says which identifier means what inside p. Imports are not loaded:
// names of other packages stay opaque, names of p itself are exact.
func (p *pkg) resolve() (*types.Package, *types.Info) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, FakeImportC: true, Error: func(error) {}}
	// The error is that imports are missing, which is the point.
	scope, _ := conf.Check(p.dir, p.fset, slices.Concat(p.files, p.tests), info)
	return scope, info
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not loaded") }

// textFiles returns the names of all files that are or could be committed.
func textFiles(t *testing.T) []string {
	t.Helper()
	needtest.Need(t, needtest.Checkout)
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git says which files are ours: %v: %s", err, stderr.String())
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Lstat(filepath.Join(root, name))
		return err != nil || !info.Mode().IsRegular()
	})
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return string(data)
}

// report fails t with every finding, and with what to do about them.
func report(t *testing.T, findings []string, advice string) {
	t.Helper()
	if len(findings) > 0 {
		t.Errorf("%s\n\n%s", strings.Join(findings, "\n"), advice)
	}
}
