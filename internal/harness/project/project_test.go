package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/world/workspace"
)

// open opens a folder with settings of the user.
func open(t *testing.T, settings string, o project.Options) *project.Project {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	p, err := project.Open(&o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLimitsAreThoseOfTheSettings(t *testing.T) {
	p := open(t, `{"agents":{"maxRunning":3,"idleSeconds":90}}`, project.Options{})
	if got, want := p.Limits().Agents, (project.AgentLimits{Running: 3, Depth: 2, Idle: 90 * time.Second}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestARuleOfTheCommandLineIsInThePolicy(t *testing.T) {
	p := open(t, `{"permissions":{"defaultMode":"plan","deny":["WebFetch"]}}`, project.Options{Allowed: []string{"Bash(ls)"}})
	opts, err := p.Policy()
	if err != nil || opts.Mode != permission.Plan {
		t.Fatalf("mode %q, %v", opts.Mode, err)
	}
	var rules []string
	for _, r := range opts.Rules {
		rules = append(rules, r.Behavior.String()+" "+r.Text)
	}
	for _, want := range []string{"deny WebFetch", "allow Bash(ls)"} {
		if !slices.Contains(rules, want) {
			t.Errorf("the rules %q do not have %q", rules, want)
		}
	}
}

// A journal is a file that others may have written: its names must not open folders
// besides those of results.
func TestOnlyResultsAreRecalled(t *testing.T) {
	p := open(t, `{}`, project.Options{})
	results := filepath.Join(workspace.StateDir(), "results")
	p.Kept.Recall([]string{"earlier", "..", ".", "", "../sessions", "/etc"})
	for path, want := range map[string]bool{
		filepath.Join(results, "earlier", "1.txt"):           true,
		filepath.Join(results, "other", "1.txt"):             false,
		filepath.Join(workspace.StateDir(), "sessions", "x"): false,
		filepath.Join(workspace.StateDir(), "anything"):      false,
		"/etc/passwd": false,
	} {
		if got := p.Kept.Holds(path); got != want {
			t.Errorf("Holds(%s) = %v", path, got)
		}
	}
	if names := p.Kept.Names(); len(names) != 2 || names[1] != "earlier" {
		t.Errorf("the journal would keep %q, want this process's and earlier", names)
	}
}

func TestPluginsThatAreEnabledButNotInstalled(t *testing.T) {
	for source, want := range map[string]string{
		`{"source": "github", "repo": "acme/tools"}`:                     "haft plugin marketplace add acme/tools && ",
		`{"source": "git", "url": "https://example.com/acme.git"}`:       "haft plugin marketplace add https://example.com/acme.git && ",
		`{"source": "directory", "path": "./tools"}`:                     "haft plugin marketplace add ./tools && ",
		`{"source": "git", "url": "https://example.com/$(touch x).git"}`: "",
		`{"source": "github", "repo": "--help"}`:                         "",
		`5`:                                                              "",
	} {
		p := open(t, `{"enabledPlugins":{"lint@acme":true,"off@acme":false},"extraKnownMarketplaces":{"acme":{"source":`+source+`}}}`, project.Options{})
		faults, _ := p.Check()
		if len(faults) != 1 || !strings.HasSuffix(faults[0].String(), "not installed: lint@acme. To install one, run: "+want+"haft plugin install lint@acme") {
			t.Errorf("from %s: %v", source, faults)
		}
	}
}
