package house

import (
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	toolPackages = module + "/internal/tools/"
	suite        = "tooltest.Run("
)

// toolParts are packages beside the tools that several of them share.
var toolParts = []string{"filetool", "loading", "picture", "scope"}

func TestEveryBuiltInPassesTheSuite(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		if p.dir != "internal/tools/builtin" {
			continue
		}
		for _, file := range p.files {
			for _, imp := range file.Imports {
				name, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), toolPackages)
				if dir := "internal/tools/" + name; ours && !slices.Contains(toolParts, name) && !tested(t, dir) {
					findings = append(findings, dir+": no test of it calls "+suite+"…)")
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
	if tested(t, "internal/text/near") || !tested(t, "internal/tools/sleep") {
		t.Error("the check cannot tell a tested tool from an untested one")
	}
}
