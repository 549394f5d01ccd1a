package house

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// emptyNames say nothing about what a package is for, so everything fits in.
var emptyNames = []string{
	"util", "utils", "common", "shared", "helper", "helpers", "manager", "service", "misc", "base",
}

func TestPackageNamesSaySomething(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		if name := emptyName(p.dir, p.name); name != "" {
			findings = append(findings, fmt.Sprintf("%s: %q names no idea", p.dir, name))
		}
	}
	report(t, findings,
		"Name the package for what it is. A function that fits nowhere stays private to its user or earns a package of its own.")
}

// emptyName returns the part of a package's path or name that says nothing.
func emptyName(dir, name string) string {
	for _, part := range append(strings.Split(dir, "/"), name) {
		if slices.Contains(emptyNames, part) {
			return part
		}
	}
	return ""
}
