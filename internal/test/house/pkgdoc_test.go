package house

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestUndocumentedPackagesAreFound(t *testing.T) {
	second := snippet(t, "a", "// Package a holds.\npackage a")
	second.files = append(second.files, second.files[0])
	tests := []struct {
		name string
		p    *pkg
		want []string
	}{
		{"a documented package is fine", snippet(t, "a", "// Package a holds.\npackage a"), nil},
		{"a documented command is fine", snippet(t, "cmd/x", "// Command x runs.\npackage main"), nil},
		{"a build constraint is no comment", snippet(t, "a", "//go:build linux\n\npackage a"),
			[]string{"a: package a has no package comment"}},
		{"a licence is no package comment", snippet(t, "a", "// All rights.\npackage a"),
			[]string{`a/x.go:1: the package comment should start with "Package a "`}},
		{"two comments are one too many", second, []string{"a/x.go:1: a second package comment"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, undocumented(tt.p)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
