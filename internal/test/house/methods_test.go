package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"path/filepath"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

const (
	// mostMethods is how many methods a type may have, mostAway the share of all methods, in per cent, that may live
	// outside their type's file: those for one system, and those that would make a file too long.
	mostMethods = 60
	mostAway    = 10
	// smallType is how many methods a type may have so that all of them must be in its file, as long as that is not long.
	smallType = 25
)

// larger are types that are not split yet, with ceilings that only fall.
var larger = map[string]int{"internal/shell.analyzer": 172, "internal/guard/permission.evaluation": 67}

// ofOneSystem matches the names of files that are not built everywhere.
var ofOneSystem = lazyregexp.New(`(^|/|_)(linux|unix|windows|darwin|freebsd|other|amd64|arm64)\.go$`)

// longFile is how many lines a file has that takes in no more methods.
const longFile = 595

// TestMethodsLiveWithTheirType holds what a reader relies on: the methods of a type are in its file. Run it
// with -v for the count.
func TestMethodsLiveWithTheirType(t *testing.T) {
	all, away := 0, 0
	for _, p := range allPackages(t) {
		n, strayed, small := methodsOf(p)
		all, away = all+n, away+strayed
		for _, m := range oversized(p) {
			t.Error(m)
		}
		for _, m := range small {
			t.Errorf("%s: move it to the file of its type", m)
		}
	}
	t.Logf("of %d methods %d (%.1f %%) are outside their type's file", all, away, 100*float64(away)/float64(all))
	if all == 0 || 100*away > mostAway*all {
		t.Errorf("of %d methods %d are outside their type's file, which is more than %d %%: split the largest types", all, away, mostAway)
	}
}

// oversized names the types of a package that are several.
func oversized(p *pkg) (list []string) {
	methods := map[string]int{}
	for _, f := range p.files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
				methods[p.dir+"."+receiverType(d.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		if most := max(mostMethods, larger[name]); n > most {
			list = append(list, fmt.Sprintf("%s has %d methods, which is more than %d: split it by what its parts own", name, n, most))
		}
	}
	return list
}

// methodsOf counts the methods of a package and those outside their type's file, and names those that could be
// moved there.
func methodsOf(p *pkg) (all, away int, movable []string) {
	homes, methods, lines := map[string]string{}, map[string][]*ast.FuncDecl{}, map[string]int{}
	at := func(n ast.Node) string { return p.fset.Position(n.Pos()).Filename }
	for _, f := range p.files {
		lines[at(f)] = p.fset.Position(f.End()).Line
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					name := receiverType(d.Recv.List[0].Type)
					methods[name] = append(methods[name], d)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						homes[s.Name.Name] = at(s)
					}
				}
			}
		}
	}
	for name, list := range methods {
		all += len(list)
		var strayed []string
		length := lines[homes[name]]
		for _, m := range list {
			if at(m) == homes[name] {
				continue
			}
			away++
			if !ofOneSystem.MatchString(at(m)) && !ofOneSystem.MatchString(homes[name]) {
				strayed = append(strayed, filepath.ToSlash(at(m))+": "+name+"."+m.Name.Name)
				length += p.fset.Position(m.End()).Line - p.fset.Position(m.Pos()).Line + 3
			}
		}
		if len(list) <= smallType && length < longFile {
			movable = append(movable, strayed...)
		}
	}
	slices.SortFunc(movable, cmp.Compare)
	return all, away, movable
}
