package house

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		findings = append(findings, undocumented(p)...)
	}
	report(t, findings,
		"Give each package one package comment, in one file (doc.go if it is long): what it is for, how it is used, what is safe concurrently, who closes what.")
}

// undocumented returns what is wrong with the package comment of p.
func undocumented(p *pkg) []string {
	opening := "Package " + p.name + " "
	if p.name == "main" {
		opening = "Command " + path.Base(p.dir) + " "
	}
	var out []string
	documented := 0
	for _, file := range p.files {
		text := file.Doc.Text()
		if text == "" {
			continue
		}
		if documented++; documented > 1 {
			out = append(out, p.at(file.Doc, "a second package comment"))
		}
		if !strings.HasPrefix(text, opening) {
			out = append(out, p.at(file.Doc, "the package comment should start with %q", opening))
		}
	}
	if documented == 0 {
		out = append(out, fmt.Sprintf("%s: package %s has no package comment", p.dir, p.name))
	}
	return out
}
