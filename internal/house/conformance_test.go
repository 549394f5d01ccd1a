package house

import (
	"path"
	"strings"
	"testing"
)

const (
	toolPackage = "github.com/haftdev/haft/tool/"
	suite       = "tooltest.Run("
)

func TestEveryBuiltInPassesTheSuite(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		if p.dir != "tool/builtin" {
			continue
		}
		for _, file := range p.files {
			for _, imp := range file.Imports {
				name, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), toolPackage)
				if ours && name != "schema" && !strings.HasPrefix(name, "internal/") && !tested(t, path.Join("tool", name)) {
					findings = append(findings, "tool/"+name+": no test of it calls "+suite+"…)")
				}
			}
		}
	}
	report(t, findings, "Hold every built-in tool against the contract in its own tests; see package tool/tooltest.")
}

// tested reports whether a test in dir runs the conformance suite.
func tested(t *testing.T, dir string) bool {
	for _, name := range textFiles(t) {
		if path.Dir(name) == dir && strings.HasSuffix(name, "_test.go") && strings.Contains(readFile(t, name), suite) {
			return true
		}
	}
	return false
}

func TestAPackageWithoutTheSuiteIsFound(t *testing.T) {
	if tested(t, "internal/near") || !tested(t, "tool/sleep") {
		t.Error("the check cannot tell a tested tool from an untested one")
	}
}
