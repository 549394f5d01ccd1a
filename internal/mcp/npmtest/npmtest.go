// Package npmtest gives tests the npm packages that they need, pinned, installed
// once per machine into the user's cache.
//
// Trust: it downloads and runs packages from the npm registry, without their
// install scripts. Only tests use it.
package npmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofrs/flock"
)

// The pinned packages.
const (
	Everything = "@modelcontextprotocol/server-everything@2026.8.31"
	Filesystem = "@modelcontextprotocol/server-filesystem@2026.8.31"
	Memory     = "@modelcontextprotocol/server-memory@2026.8.31"
)

// Install returns the node_modules that has the packages. Where node and npm are
// missing the test is skipped, in CI it fails.
func Install(t testing.TB, packages ...string) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			Missing(t, program+" is not installed")
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	packages = slices.Sorted(slices.Values(packages))
	sum := sha256.Sum256([]byte(strings.Join(packages, " ")))
	dir := filepath.Join(cache, "haft-test", "npm-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(dir + ".lock") // packages of tests run side by side
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return filepath.Join(dir, "node_modules")
	}
	args := append([]string{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--force"}, packages...)
	if out, err := exec.Command("npm", args...).CombinedOutput(); err != nil {
		Missing(t, "npm install "+strings.Join(packages, " ")+": "+string(out))
	}
	if err := os.WriteFile(done, []byte(strings.Join(packages, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node_modules")
}

// Missing skips a test for want of a tool; in CI it fails.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
