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
	"time"
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

// Thorough reports whether a test that starts very many processes runs all that it has for
// every change: where HAFT_THOROUGH is set, as in a step of .ci/run without the race
// detector, or HAFT_NIGHTLY. Elsewhere a sample of it runs, so that the whole suite ends
// within minutes.
func Thorough() bool { return os.Getenv("HAFT_THOROUGH") != "" || Nightly() }

// Nightly reports whether a test may take minutes: where HAFT_NIGHTLY is set.
func Nightly() bool { return os.Getenv("HAFT_NIGHTLY") != "" }

// Hang never returns: for a program that waits to be killed. An empty select does not do,
// because without cgo the runtime ends a program all of whose goroutines wait.
func Hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// Peers skips a test that compares haft with other people's programs, unless
// HAFT_PEERS is set.
func Peers(t testing.TB) {
	t.Helper()
	if os.Getenv("HAFT_PEERS") == "" {
		t.Skip("compares with programs from npm: set HAFT_PEERS=1, or run .ci/peers")
	}
}
