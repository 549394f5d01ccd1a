package house

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModulesReplaceNothing(t *testing.T) {
	var findings []string
	for _, name := range textFiles(t) {
		if path.Base(name) == "go.mod" {
			findings = append(findings, replaces(name, readFile(t, name))...)
		}
	}
	report(t, findings,
		"Require a released version: replace directives are ignored in modules that depend on us and refused by go install.")
}

func replaces(name, text string) []string {
	var out []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		if words := strings.Fields(line); len(words) > 0 && words[0] == "replace" {
			out = append(out, fmt.Sprintf("%s:%d: %s", name, number, strings.TrimSpace(line)))
		}
	}
	return out
}

func TestNoCgo(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		findings = append(findings, cgo(p)...)
	}
	report(t, findings, "Use a pure Go library or a separate program: haft is built with CGO_ENABLED=0 for every system.")
}

func cgo(p *pkg) []string {
	var out []string
	for _, file := range p.files {
		for _, spec := range file.Imports {
			if spec.Path.Value == `"C"` {
				out = append(out, p.at(spec, `import "C"`))
			}
		}
	}
	return out
}

func TestReplacesAndCgoAreFound(t *testing.T) {
	got := replaces("go.mod", "module m\n\nreplace a => ../a\n// replace nothing\nrequire replace.org/x v1.0.0\n")
	if diff := cmp.Diff([]string{"go.mod:3: replace a => ../a"}, got); diff != "" {
		t.Errorf("replaces (-want +got):\n%s", diff)
	}
	got = cgo(snippet(t, "a", "package a\n\nimport \"C\""))
	if diff := cmp.Diff([]string{`a/x.go:3: import "C"`}, got); diff != "" {
		t.Errorf("cgo (-want +got):\n%s", diff)
	}
}
