package house

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

func TestReceiversAreNamedAlike(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		for _, finding := range unlikeReceivers(slices.Concat(p.files, p.tests)) {
			findings = append(findings, p.dir+": "+finding)
		}
	}
	report(t, findings, "Give the receiver of a type one name in all its methods, so that a reader who moves between them keeps it.")
}

// unlikeReceivers are the types of one package whose methods name the receiver differently.
func unlikeReceivers(files []*ast.File) (findings []string) {
	names := map[string][]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 {
				continue
			}
			of, name := receiverType(fn.Recv.List[0].Type), fn.Recv.List[0].Names[0].Name
			if name != "_" && !slices.Contains(names[of], name) {
				names[of] = append(names[of], name)
			}
		}
	}
	for of, list := range names {
		if len(list) > 1 {
			slices.Sort(list)
			findings = append(findings, fmt.Sprintf("the receiver of %s is %s", of, strings.Join(list, " or ")))
		}
	}
	slices.Sort(findings)
	return findings
}

// receiverType is the name in a receiver such as *T or T[K].
func receiverType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverType(e.X)
	case *ast.IndexExpr:
		return receiverType(e.X)
	case *ast.IndexListExpr:
		return receiverType(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
