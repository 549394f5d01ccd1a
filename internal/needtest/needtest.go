// Package needtest gives tests the programs that they need and that haft does not
// bring: those of the machine, and npm packages of pinned versions, installed once
// per machine below the cache.
//
// A test that misses a program is skipped and says which. Where CI is set it fails,
// so that nothing goes untested unseen. Tests that download are a suite of their
// own, which HAFT_PEERS=1 turns on; CONTRIBUTING.md says how to run it.
//
// Everything is safe for concurrent use, also by the tests of several packages that
// run at the same time. Trust: it downloads packages from the npm registry and
// tests run them; their install scripts do not run.
package needtest

import (
	"os"
	"os/exec"
	"testing"
)

// Program returns where a program is, or skips the test.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is not installed", name)
	}
	return path
}

// Missing skips a test that lacks something; in CI it fails.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Peers skips a test that compares haft with other people's programs, unless
// HAFT_PEERS is set.
func Peers(t testing.TB) {
	t.Helper()
	if os.Getenv("HAFT_PEERS") == "" {
		t.Skip("compares with programs from npm: set HAFT_PEERS=1, or run .ci/peers")
	}
}
