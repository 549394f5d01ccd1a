// Package needtest says what a test needs of the machine, so that the tests pass wherever
// Go and git are:
//
//	needtest.Need(t, needtest.Namespaces, "python3")
//
// A test that lacks something is skipped and says what. Where CI is set it fails, so that
// nothing goes untested unseen; .ci/bare runs the tests where almost everything is missing, and
// knows which are skipped there. The package also brings npm packages of pinned versions,
// installed once per machine below the cache. Tests that download are a suite of their own,
// which HAFT_PEERS=1 turns on; CONTRIBUTING.md says how to run it.
//
// Everything is safe for concurrent use, also by the tests of several packages that
// run at the same time. Trust: it downloads packages from the npm registry and
// tests run them; their install scripts do not run.
package needtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A Thing is something that a machine may lack: one of the constants, or else a program by its
// name or path.
type Thing string

// What the kernel or the machine may refuse. Each is tried, because no setting tells for sure.
const (
	Namespaces Thing = "namespaces" // user namespaces in which file systems can be mounted
	Overlay    Thing = "overlay"    // an overlay in such a namespace
	Landlock   Thing = "landlock"
	Cgroups    Thing = "cgroups"  // a cgroup that this process may divide
	Resolver   Thing = "resolver" // localhost has an address
	Tracing    Thing = "tracing"  // strace, and the right to use it
	Checkout   Thing = "checkout" // git knows the files of this project
	Root       Thing = "root"
	Mounts     Thing = "mounts" // the right to mount outside of a user namespace
)

// A Test is a testing.TB, or a script that can be skipped like one.
type Test interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Need skips a test that lacks one of the things.
func Need(t Test, things ...Thing) {
	t.Helper()
	for _, thing := range things {
		err := Lacks(thing)
		switch {
		case err == nil:
		case thing == Root || thing == Mounts || thing == Cgroups: // rights, which CI has or not
			t.Skipf("%v", err)
		default:
			Missing(t, "%v", err)
		}
	}
}

// Lacks returns why the machine does not have a thing, and nil if it has. What the kernel may
// refuse is tried once per process.
func Lacks(thing Thing) error {
	probe, ok := probes[thing]
	if !ok {
		if _, err := exec.LookPath(string(thing)); err != nil {
			return fmt.Errorf("%s is not installed", thing)
		}
		return nil
	}
	if probe.try() != nil {
		return errors.New(probe.lack)
	}
	return nil
}

// A probe tries something; lack says what is missing where it fails.
type probe struct {
	lack string
	try  func() error
}

func asRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("not root")
	}
	return nil
}

// checkout asks in the folder of the package that is tested.
func checkout() error { return exec.Command("git", "rev-parse", "--git-dir").Run() }

func resolve() error {
	_, err := net.LookupHost("localhost")
	return err
}

// Program returns where a program is, or skips the test.
func Program(t testing.TB, name string) string {
	t.Helper()
	Need(t, Thing(name))
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Missing skips a test that lacks something; in CI it fails.
func Missing(t Test, format string, args ...any) {
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
