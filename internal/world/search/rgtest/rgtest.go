// Package rgtest provides the ripgrep that searches are compared with: the one in
// the npm package @vscode/ripgrep, at a fixed version, installed into a cache
// folder on first use. It is for tests and benchmarks.
package rgtest

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// ripgrep is the npm package and its version. It brings ripgrep 15.0.0.
const ripgrep = "@vscode/ripgrep@1.18.0"

// Path gives the ripgrep binary, installing it if need be.
func Path(ctx context.Context) (string, error) {
	dir, err := needtest.Packages(ctx, ripgrep)
	if err != nil {
		return "", err
	}
	return find(dir)
}

func find(dir string) (string, error) {
	for _, pattern := range []string{"node_modules/@vscode/ripgrep-*/bin/rg*", "node_modules/@vscode/ripgrep/bin/rg*"} {
		if m, _ := filepath.Glob(filepath.Join(dir, pattern)); len(m) > 0 {
			return m[0], nil
		}
	}
	return "", fmt.Errorf("no rg below %s", dir)
}

// Need gives the ripgrep binary, or skips a test that compares with it.
func Need(t testing.TB) string {
	t.Helper()
	rg, err := find(needtest.NPM(t, ripgrep))
	if err != nil {
		t.Fatal(err)
	}
	return rg
}
