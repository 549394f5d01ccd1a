package interop_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// comment matches lines that are empty or only a comment.
var comment = regexp.MustCompile(`^\s*((//|/\*\*).*)?$`)

// TestExamplesAreShort compares programs of examples/ with the same in TypeScript, which cases/examples.mjs runs.
func TestExamplesAreShort(t *testing.T) {
	count := func(path string) (lines int) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if !comment.MatchString(strings.TrimRight(line, "\n")) {
				lines++
			}
		}
		return lines
	}
	theirs, err := filepath.Glob("examples/*.mjs")
	if err != nil || len(theirs) < 3 {
		t.Fatalf("%v, %v", theirs, err)
	}
	for _, path := range theirs {
		name := strings.TrimSuffix(filepath.Base(path), ".mjs")
		ours, want := count(filepath.Join("../../../examples", name, "main.go")), count(path)
		if t.Logf("%s: %d lines in Go, %d in TypeScript", name, ours, want); 2*ours > 3*want {
			t.Errorf("%s has %d lines, and %d with the official SDK", name, ours, want)
		}
	}
}
