// Package rgtest provides the ripgrep that searches are compared with: the one in
// the npm package @vscode/ripgrep, at a fixed version, installed into a cache
// folder on first use. It is for tests and benchmarks.
package rgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Package is the npm package and its version. It brings ripgrep 15.0.0.
const Package = "@vscode/ripgrep@1.18.0"

var install = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "haft-test", "ripgrep-1.18.0")
	if rg := find(dir); rg != "" {
		return rg, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is not installed, so ripgrep cannot be had")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if out, err := exec.Command(npm, "install", "--no-audit", "--no-fund", "--prefix", dir, Package).CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %s: %w\n%s", Package, err, out)
	}
	if rg := find(dir); rg != "" {
		return rg, nil
	}
	return "", fmt.Errorf("no rg below %s", dir)
})

func find(dir string) string {
	for _, pattern := range []string{"node_modules/@vscode/ripgrep-*/bin/rg", "node_modules/@vscode/ripgrep/bin/rg"} {
		if m, _ := filepath.Glob(filepath.Join(dir, pattern)); len(m) > 0 {
			return m[0]
		}
	}
	return ""
}

// Path gives the ripgrep binary, installing it if need be.
func Path() (string, error) { return install() }

// Need gives the ripgrep binary or skips the test; in CI a missing one fails it.
func Need(t testing.TB) string {
	t.Helper()
	rg, err := install()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("ripgrep: %v", err)
	default:
		t.Skipf("no ripgrep to compare with: %v", err)
	}
	return rg
}
