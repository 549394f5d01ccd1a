package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/haftdev/haft/internal/cli"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/tracetest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model/script"
)

func TestMain(m *testing.M) {
	shellrun.Supervise()
	if filepath.Base(os.Args[0]) != "haft" { // which this program is, too
		os.Setenv("IS_SANDBOX", "1") // tests may run as root, in the mode that asks nobody
	}
	testscript.Main(inScratch{m}, map[string]func(){"haft": func() { os.Exit(cli.Main()) }, "request": request})
}

// scratch is a folder for what all tests share. It goes when they have run.
var scratch string

type inScratch struct{ m *testing.M }

func (s inScratch) Run() int {
	var err error
	if scratch, err = os.MkdirTemp("", "haft-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return s.m.Run()
}

// TestScripts runs the haft command as a user would, with an empty home.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       golden.Updating(),
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"record": recordSession, "model": serveModel, "asked": asked, "usage": usage, "collector": collectTraces(t), "traced": traced, "need": need,
		},
		Condition: has,
		Setup: func(e *testscript.Env) error {
			t.Cleanup(func() { os.Remove(filepath.Dir(e.WorkDir)) }) // testscript leaves it where only some scripts run
			e.Setenv("HOME", e.WorkDir+"/.home")                     // of its own, unless the script says otherwise: root could make /no-home
			e.Values[skipKey{}] = e.T().Skip
			e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/.cache")
			e.Setenv("GOCACHE", goCache())
			e.Setenv("IS_SANDBOX", "1")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Values[modelKey{}] = new(*script.Server)
			e.Values[collectorKey{}] = new(*tracetest.Collector)
			return os.Mkdir(e.WorkDir+"/.home", 0o700)
		},
	})
}

// goCache is where Go keeps what it built: with an empty one, each script that
// runs Go would build the standard library.
func goCache() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return "" // scripts that need Go skip
	}
	return strings.TrimSpace(string(out))
}

// usage runs a command that must end with the code of a wrong command line.
func usage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: usage command [args…]")
	}
	var exit *exec.ExitError
	if err := ts.Exec(args[0], args[1:]...); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		ts.Fatalf("%q ended with %v, want exit code 2", args, err)
	}
}
