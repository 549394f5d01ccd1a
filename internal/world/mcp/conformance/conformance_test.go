package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/test/conformance"
)

func TestTheHostPassesTheOfficialSuite(t *testing.T) {
	suite := conformance.Install(t)
	command := filepath.Join(t.TempDir(), "host")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", command, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the fixture: %v\n%s", err, out)
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) { suite.Client(t, command, revision) })
	}
	for _, name := range []string{"no-prefetch", "verify-digest", "verify-size", "verify-frontmatter"} {
		t.Run(name, func(t *testing.T) { suite.Scenario(t, command, "sep-2640-client-"+name) })
	}
}
